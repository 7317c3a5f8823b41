import type { Schemas } from '../api';
import { nextTimes, timeZones, wordsOf } from '../data/schedule';
import type { SourceDraft } from '../data/source-draft';
import { readerTimeZone, slot } from '../locale';
import { Check } from '../parts/check';
import { Choice, Field } from '../parts/field';
import { texts } from '../texts';

const shownTimes = 5;

interface Options {
  draft: SourceDraft;
  /** Faults by JSON pointers into the definition. */
  faults: Record<string, string>;
  onChange: (changes: Partial<SourceDraft>) => void;
}

/** The schedule of a source: five fields of cron, the same in words, and the next times. */
export function ScheduleFields({ draft, faults, onChange }: Options) {
  const { isScheduled, cron, timeZone } = draft;
  const isPreset = texts.schedule.presets.some(([preset]) => preset === cron);
  return (
    <fieldset className="group">
      <legend>{texts.schedule.title}</legend>
      <Check
        label={texts.schedule.isScheduled}
        hint={texts.schedule.isScheduledHint}
        isChecked={isScheduled}
        onChange={(checked) => onChange({ isScheduled: checked })}
      />
      {isScheduled && (
        <>
          <div className="pair">
            <Choice
              label={texts.schedule.often}
              value={isPreset ? cron : ''}
              options={[...texts.schedule.presets, ['', texts.schedule.own]]}
              onChange={(preset) => preset && onChange({ cron: preset })}
            />
            <Field
              label={texts.schedule.cron}
              hint={texts.schedule.cronHint}
              error={faults['/schedule/cron']}
              spellCheck="false"
              value={cron}
              onChange={(value) => onChange({ cron: value })}
            />
            <Field
              label={texts.schedule.zone}
              hint={texts.schedule.zoneHint}
              error={faults['/schedule/time_zone']}
              suggestions={timeZones}
              value={timeZone}
              onChange={(value) => onChange({ timeZone: value })}
            />
          </div>
          <div className="preview" aria-live="polite">
            <p>
              <strong>{wordsOf(cron) ?? texts.schedule.unreadable}</strong>
            </p>
            <NextTimes schedule={{ cron, time_zone: timeZone }} />
          </div>
        </>
      )}
    </fieldset>
  );
}

/**
 * The next times of a schedule, in the user's time zone.
 * @param first - the next one, from the service
 */
export function NextTimes({
  schedule,
  first,
}: {
  schedule: Schemas['SourceSchedule'] | undefined;
  first?: string | null;
}) {
  if (!schedule) return <p className="muted">{texts.schedule.none}</p>;
  const computed = nextTimes(schedule, shownTimes);
  const known = first ? new Date(first) : undefined;
  const times = known ? [known, ...computed.filter((at) => at > known)].slice(0, shownTimes) : computed;
  if (times.length === 0) return <p className="muted">{texts.schedule.noTimes}</p>;
  return (
    <>
      <p className="muted">{texts.schedule.inZone(readerTimeZone)}</p>
      <ol className="times">
        {times.map((at) => (
          <li key={at.getTime()}>
            <time dateTime={at.toISOString()}>{slot(at)}</time>
          </li>
        ))}
      </ol>
    </>
  );
}
