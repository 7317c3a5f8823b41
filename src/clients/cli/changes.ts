import type { components } from '../../../generated/openapi';
import { exitCodes, Failure } from './failures';
import { moreText } from './lists';
import { changeTable } from './plan';
import { printable, printableJson } from './printable';
import { countersText, linesText } from './report';
import { checkedBody, list, type Service } from './service';
import type { Session, Work } from './session';
import { textTable } from './table';

type RunChanges = components['schemas']['RunChanges'];
type RunRevert = components['schemas']['RunRevert'];
type RevertConflict = components['schemas']['RevertConflict'];

/** Polling interval while the revert is queued or in progress. */
const pollSeconds = 1;

const pathOf = (jobId: string) => ({ job_id: jobId });
const changesOfRun = ['changes', 'items'] as const;
const aRevert = ['a revert', 'reverts_run'] as const;

export function showChanges(jobId: string, page: { run: number; limit: number; cursor?: string }): Work {
  return async ({ service, json }) => {
    const changes = await service.askFor('the request for changes', changesOfRun, () =>
      service.api.GET('/jobs/{job_id}/changes', { params: { path: pathOf(jobId), query: page } }),
    );
    process.stdout.write(json ? `${printableJson(changes)}\n` : changesReport(changes));
    return exitCodes.done;
  };
}

function changesReport(changes: RunChanges): string {
  const { job_id, feed_id, run, kind, status, message, summary, items, next_cursor } = changes;
  const lines = [`Run ${run} (${kind}) of job ${job_id}, feed ${feed_id}: ${status}.`];
  if (status !== 'completed') lines.push(message);
  return `${linesText(lines)}${summary ? `\n${countersText(summary)}` : ''}${tableOf(items)}${moreText(next_cursor)}`;
}

const tableOf = (items: RunChanges['items']) => (items.length > 0 ? `\n${changeTable(items)}` : '');

interface RevertOptions {
  run: number;
  dryRun?: boolean;
  skipConflicts?: boolean;
  limit: number;
  cursor?: string;
}

/** Undoes a run and shows the result, or shows a preview. */
export function revert(jobId: string, options: RevertOptions): Work {
  return async (session) => {
    const undone = options.dryRun
      ? await previewRevert(session.service, jobId, options)
      : await revertRun(session, jobId, options);
    process.stdout.write(session.json ? `${printableJson(undone)}\n` : revertReport(undone));
    return undone.status === 'completed' ? exitCodes.done : exitCodes.refused;
  };
}

const queryOf = ({ run, skipConflicts }: RevertOptions) => ({
  run,
  on_conflict: skipConflicts ? ('skip' as const) : undefined,
});

function previewRevert(service: Service, jobId: string, options: RevertOptions): Promise<RunRevert> {
  const { limit, cursor } = options;
  const query = { ...queryOf(options), dry_run: true, limit, cursor };
  return service.askFor('the preview', aRevert, () =>
    service.api.POST('/jobs/{job_id}/revert', { params: { path: pathOf(jobId), query } }),
  );
}

/** Requests a revert, or joins the one in progress, and follows it to its end. @throws Failure */
async function revertRun(session: Session, jobId: string, options: RevertOptions): Promise<RunRevert> {
  const { service } = session;
  const received = await service.ask(
    'the revert',
    () =>
      service.api.POST('/jobs/{job_id}/revert', {
        params: { path: pathOf(jobId), query: queryOf(options) },
        // A small revert takes less.
        headers: { prefer: 'respond-async, wait=1' },
      }),
    // The first attempt has reverted it.
    { doneStatus: 409 },
  );
  const undone = received && checkedBody(aRevert, received);
  if (undone && hasEnded(undone)) return undone;
  const run = undone?.run ?? (await lastRevert(service, jobId, options.run));
  return followRevert(session, jobId, { run, reverts: options.run });
}

/** Finds the last revert of a run. @throws Failure when there is none */
async function lastRevert(service: Service, jobId: string, of: number): Promise<number> {
  const params = { path: pathOf(jobId), query: { limit: 100 } };
  const { items } = await service.askFor('the request for runs', list, () =>
    service.api.GET('/jobs/{job_id}/runs', { params }),
  );
  const found = items.find(({ reverts_run }) => reverts_run === of);
  if (!found) throw new Failure(exitCodes.refused, `Run ${of} was not reverted.`);
  return found.run;
}

/** Shows the state of a revert until it ends. */
async function followRevert(
  { service, view }: Session,
  jobId: string,
  { run, reverts }: { run: number; reverts: number },
): Promise<RunRevert> {
  for (;;) {
    const params = { path: pathOf(jobId), query: { run, limit: 0 } };
    const { feed_id, status, message, summary } = await service.askFor(
      'the request for the revert',
      changesOfRun,
      () => service.api.GET('/jobs/{job_id}/changes', { params }),
    );
    const undone = { job_id: jobId, feed_id, reverts_run: reverts, run, status, message, summary };
    if (hasEnded(undone)) return undone;
    view.show({ name: status === 'queued' ? 'waiting' : 'running', detail: printable(message) });
    await service.pause(pollSeconds);
  }
}

const hasEnded = ({ status }: RunRevert) => status === 'completed' || status === 'failed';

function revertReport(undone: RunRevert): string {
  const {
    job_id,
    reverts_run,
    run,
    status,
    message,
    summary,
    items = [],
    conflicts = [],
    next_cursor,
  } = undone;
  const what = `run ${reverts_run} of job ${job_id}`;
  const outcome = run === null ? `A revert of ${what} would do this.` : `Reverted ${what}, by run ${run}.`;
  const failure = run === null ? `A revert of ${what} would fail.` : `Run ${run} did not revert ${what}.`;
  const lines = status === 'completed' ? [outcome] : [failure, message];
  return (
    linesText(lines) +
    (summary ? `\n${countersText(summary)}` : '') +
    tableOf(items) +
    conflictTable(conflicts) +
    moreText(next_cursor)
  );
}

function conflictTable(conflicts: RevertConflict[]): string {
  if (conflicts.length === 0) return '';
  const text = (values: object) =>
    Object.entries(values)
      .map(([field, value]) => `${field}: ${value ?? '(none)'}`)
      .join(', ');
  const rows = conflicts.map(({ product_id, sku, current, reverted }) => [
    product_id,
    sku,
    `${text(current)} -> ${text(reverted)}`,
  ]);
  return `\nConflicts:\n${textTable(
    [
      ['product', 11],
      ['sku', 24],
    ],
    'now -> reverted',
    rows,
  )}`;
}
