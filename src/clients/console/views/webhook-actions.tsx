import { useState } from 'react';
import { RequestError } from '../api';
import { replayDay, keptDays, lastHour, type ReplayPeriod } from '../data/replay-period';
import { usePause, usePing, useReplay, type Webhook, type WebhookPath } from '../data/webhooks';
import { weekday } from '../locale';
import { Action } from '../parts/action';
import { Check } from '../parts/check';
import { Confirm } from '../parts/confirm';
import { FailureNotice } from '../parts/failure';
import { Choice } from '../parts/field';
import { texts } from '../texts';

const { webhooks: words } = texts;

/** The result of an action, in words. */
interface Result {
  text: string;
  isBad?: boolean;
}

interface Options {
  webhook: Webhook;
  path: WebhookPath;
}

/** Test, pause and replay of a webhook, with the result of the last action. */
export function WebhookActions({ webhook, path }: Options) {
  const [result, setResult] = useState<Result>();
  const [dialog, setDialog] = useState<'pause' | 'replay'>();
  const ping = usePing(path);
  const resume = usePause(path);
  const close = () => setDialog(undefined);
  const start = (action: () => void) => {
    setResult(undefined);
    ping.reset();
    resume.reset();
    action();
  };
  const finish = (done: Result) => {
    close();
    setResult(done);
  };
  const error = ping.error ?? resume.error;
  return (
    <>
      <div className="actions">
        <Action
          isDisabled={ping.isPending}
          onPress={() =>
            start(() =>
              ping.mutate(undefined, { onSuccess: ({ http_status }) => setResult(pingResult(http_status)) }),
            )
          }
        >
          {words.test.action}
        </Action>
        <Action onPress={() => start(() => setDialog('replay'))}>{words.replay.action}</Action>
        {webhook.paused_until ? (
          <Action
            isDisabled={resume.isPending}
            onPress={() =>
              start(() => resume.mutate(0, { onSuccess: () => setResult({ text: words.pause.resumed }) }))
            }
          >
            {words.pause.resume}
          </Action>
        ) : (
          <Action onPress={() => start(() => setDialog('pause'))}>{words.pause.action}</Action>
        )}
      </div>
      <div role="status">
        {ping.isPending && <p className="muted">{texts.loading}</p>}
        {result && <p className={result.isBad ? 'notice bad' : 'notice good'}>{result.text}</p>}
      </div>
      {error && <FailureNotice error={inWords(error)} />}
      {dialog === 'pause' && <PauseDialog path={path} onClose={close} onDone={finish} />}
      {dialog === 'replay' && <ReplayDialog path={path} onClose={close} onDone={finish} />}
    </>
  );
}

function pingResult(status: number | null): Result {
  if (status === null) return { text: words.test.noResponse, isBad: true };
  const isAccepted = status >= 200 && status < 300;
  return isAccepted
    ? { text: words.test.accepted(status) }
    : { text: words.test.refused(status), isBad: true };
}

/** Replaces refusals whose message speaks of requests of programs. */
function inWords(error: Error): Error {
  if (!(error instanceof RequestError)) return error;
  if (error.code === 'webhook_disabled') return new Error(words.disabledWay);
  return error.status === 422 ? new Error(words.test.unreadable) : error;
}

interface DialogOptions {
  path: WebhookPath;
  onClose: () => void;
  onDone: (result: Result) => void;
}

function PauseDialog({ path, onClose, onDone }: DialogOptions) {
  const { action, title, lead, field, durations, done } = words.pause;
  const [seconds, setSeconds] = useState<string>(durations[0][0]);
  const pause = usePause(path);
  return (
    <Confirm
      title={title}
      isOpen
      onClose={onClose}
      actions={
        <Action
          kind="primary"
          isDisabled={pause.isPending}
          onPress={() => pause.mutate(Number(seconds), { onSuccess: () => onDone({ text: done }) })}
        >
          {action}
        </Action>
      }
    >
      <p>{lead}</p>
      <Choice label={field} value={seconds} options={durations} onChange={setSeconds} />
      {pause.error && <FailureNotice error={pause.error} />}
    </Confirm>
  );
}

/** The periods to choose from, by their texts. */
function periodsAt(now: Date): [text: string, period: ReplayPeriod][] {
  const days = Array.from({ length: keptDays }, (_, daysAgo) => replayDay(now, daysAgo));
  const { lastHour: hour, today, yesterday } = words.replay;
  return [
    [hour, lastHour(now)],
    ...days.map((period, at): [string, ReplayPeriod] => [
      [today, yesterday][at] ?? weekday(period.from),
      period,
    ]),
  ];
}

function ReplayDialog({ path, onClose, onDone }: DialogOptions) {
  const { title, lead, field, includeDelivered, includeDeliveredHint, confirm } = words.replay;
  const [periods] = useState(() => periodsAt(new Date()));
  const [chosen, setChosen] = useState('0');
  const [includesDelivered, setIncludesDelivered] = useState(false);
  const replay = useReplay(path);
  const [, period] = periods[Number(chosen)]!;
  return (
    <Confirm
      title={title}
      isOpen
      onClose={onClose}
      actions={
        <Action
          kind="primary"
          isDisabled={replay.isPending}
          onPress={() =>
            replay.mutate(
              { period, includesDelivered },
              { onSuccess: (events) => onDone(replayResult(events, includesDelivered)) },
            )
          }
        >
          {confirm}
        </Action>
      }
    >
      <p>{lead}</p>
      <Choice
        label={field}
        value={chosen}
        options={periods.map(([text], at) => [String(at), text] as const)}
        onChange={setChosen}
      />
      <Check
        label={includeDelivered}
        hint={includeDeliveredHint}
        isChecked={includesDelivered}
        onChange={setIncludesDelivered}
      />
      {replay.error && <FailureNotice error={inWords(replay.error)} />}
    </Confirm>
  );
}

function replayResult(events: number, includesDelivered: boolean): Result {
  const { done, nothing, nothingAtAll } = words.replay;
  if (events > 0) return { text: done(events) };
  return { text: includesDelivered ? nothingAtAll : nothing };
}
