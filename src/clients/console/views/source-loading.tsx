import { useQuery } from '@tanstack/react-query';
import { fetchFormats } from '../data/formats';
import { isPercentage, type SourceDraft } from '../data/source-draft';
import { Check } from '../parts/check';
import { FailureNotice } from '../parts/failure';
import { Choice, Field } from '../parts/field';
import { useDeferred } from '../parts/use-deferred';
import { texts } from '../texts';
import { ModeCards } from './mode-cards';

interface Options {
  draft: SourceDraft;
  /** Faults by JSON pointers into the definition. */
  faults: Record<string, string>;
  onChange: (changes: Partial<SourceDraft>) => void;
}

/** Options for loading a fetched file. */
export function LoadFields({ draft, faults, onChange }: Options) {
  const partner = useDeferred(draft.partner.trim());
  const formats = useQuery({
    queryKey: ['formats', partner],
    queryFn: () => fetchFormats(partner),
    enabled: partner !== '',
  });
  const names = (formats.data ?? []).map(({ format_name, partner_name }): [string, string] => [
    format_name,
    (partner_name === null ? texts.check.byBuiltIn : texts.check.byFormat)(format_name),
  ]);
  const offered: [string, string][] = [['', texts.sources.defaultFormat], ...names];
  // The stored format is shown before the list has arrived.
  if (!offered.some(([name]) => name === draft.format)) offered.push([draft.format, draft.format]);
  return (
    <>
      {formats.error && <FailureNotice error={formats.error} retry={() => void formats.refetch()} />}
      <div className="pair">
        <Choice
          label={texts.sources.format}
          value={draft.format}
          options={offered}
          onChange={(format) => onChange({ format })}
        />
      </div>
      {faults['/format'] && <p className="field-error">{faults['/format']}</p>}
      <ModeCards value={draft.mode} onChange={(mode) => onChange({ mode })} />
      <div className="pair">
        {draft.mode === 'replace' && (
          <Field
            label={texts.sources.percentField}
            hint={texts.sources.percentHint}
            error={isPercentage(draft) ? faults['/max_withdrawn_percent'] : texts.sources.percentFault}
            inputMode="decimal"
            value={draft.percent}
            onChange={(percent) => onChange({ percent })}
          />
        )}
        <Field
          label={texts.feed.collection}
          hint={texts.sources.collectionHint}
          error={faults['/collection']}
          spellCheck="false"
          value={draft.collection}
          onChange={(collection) => onChange({ collection })}
        />
      </div>
      <Field
        label={texts.sources.stale}
        hint={texts.sources.staleHint}
        error={faults['/stale_after_days']}
        inputMode="numeric"
        value={draft.staleDays}
        onChange={(staleDays) => onChange({ staleDays })}
      />
      <Check
        label={texts.sources.run}
        hint={texts.sources.runHint}
        isChecked={draft.run}
        onChange={(run) => onChange({ run })}
      />
    </>
  );
}
