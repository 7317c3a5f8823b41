import fc from 'fast-check';
import { attentionReasons, type AttentionReason } from '../../../src/catalog/partners/attention';
import { keepAttention, onePartner } from '../../../src/catalog/partners/keep-attention';
import { casesFor } from '../../support/fuzz';
import { startTestService, type TestService } from '../../support/service';
import { sendTo } from '../../support/webhooks';

const hour = 3600 * 1000;

interface Load {
  /** `stopped`: during the run; `cancelled`: before it. */
  status: 'completed' | 'failed' | 'interrupted' | 'stopped' | 'cancelled';
  processed: number;
  skipped: number;
  prices: 'some' | 'none' | 'absent' | null;
  jumps: number | null;
  isCorrection: boolean;
  wouldWithdraw: number | null;
}

/** An event of a partner, some hours after the previous one. `of`: index of an earlier feed or load. */
type Step = { hours: number } & (
  | { kind: 'upload'; mode: 'upsert' | 'replace'; source: string | null; bytes: number; isRemoved: boolean }
  | ({ kind: 'run'; of: number } & Load)
  | { kind: 'request'; of: number }
  | { kind: 'revert'; of: number }
);

interface Source {
  isEnabled: boolean;
  failures: number;
  fetches: ('completed' | 'failed' | 'skipped' | 'queued')[];
}

/** When a partner became stale: since its last completed run, or since an earlier one. */
type Staleness = 'none' | 'over' | 'current' | 'earlier';

interface History {
  steps: Step[];
  sources: Source[];
  staleness: Staleness;
}

const count = (max: number) => fc.integer({ min: 0, max });
const load: fc.Arbitrary<Load> = fc
  .record({
    status: fc.constantFrom(
      ...(['completed', 'completed', 'completed', 'failed', 'interrupted', 'stopped', 'cancelled'] as const),
    ),
    processed: fc.constantFrom(0, 5, 10, 19, 20, 40, 41, 60, 100),
    share: fc.constantFrom(0, 0.02, 0.05, 0.08, 0.1, 0.3, 1),
    prices: fc.constantFrom('some', 'some', 'none', 'absent', null),
    jumps: fc.option(count(20), { freq: 5 }),
    isCorrection: fc.nat(4).map((of) => of === 0),
    wouldWithdraw: fc.option(count(20), { freq: 3 }),
  })
  .map(({ share, ...each }) => ({ ...each, skipped: Math.round(share * each.processed) }));

const upload = fc.record({
  kind: fc.constant('upload' as const),
  hours: count(30),
  mode: fc.constantFrom('upsert' as const, 'upsert' as const, 'replace' as const),
  source: fc.constantFrom(null, null, 'daily'),
  bytes: count(6),
  isRemoved: fc.nat(9).map((of) => of === 0),
});
const runOf = (of: fc.Arbitrary<number>) =>
  fc
    .record({ hours: count(12), of, load })
    .map(({ load: each, ...rest }) => ({ kind: 'run' as const, ...rest, ...each }));
const older = count(2);

/** Mostly loaded feeds, some of them with a growing number of skipped rows. */
const steps: fc.Arbitrary<Step[]> = fc.oneof(
  { weight: 3, arbitrary: fc.tuple(upload, runOf(fc.constant(0))) },
  { weight: 2, arbitrary: upload.map((each) => [each]) },
  { weight: 2, arbitrary: runOf(older).map((each) => [each]) },
  {
    weight: 1,
    arbitrary: fc
      .record({ kind: fc.constant('request' as const), hours: count(9), of: older })
      .map((each) => [each]),
  },
  {
    weight: 2,
    arbitrary: fc
      .record({ kind: fc.constant('revert' as const), hours: count(9), of: older })
      .map((each) => [each]),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(
        fc.array(fc.tuple(upload, runOf(fc.constant(0)), fc.constantFrom(0, 3, 6, 9, 12, 30)), {
          minLength: 3,
          maxLength: 4,
        }),
      )
      .map(([loads]) =>
        loads.flatMap(([each, run], at): Step[] => [
          { ...each, mode: 'upsert', source: null },
          {
            ...run,
            status: 'completed',
            processed: 100,
            skipped: [...loads].map(([, , share]) => share).sort((a, b) => a - b)[at]!,
            isCorrection: false,
          },
        ]),
      ),
  },
);

const history: fc.Arbitrary<History> = fc.record({
  steps: fc.array(steps, { maxLength: 8, size: 'max' }).map((each) => each.flat()),
  sources: fc.array(
    fc.record({
      isEnabled: fc.nat(4).map((of) => of > 0),
      failures: fc.constantFrom(0, 1, 4, 5, 7),
      fetches: fc.array(fc.constantFrom('completed' as const, 'failed' as const, 'skipped' as const), {
        maxLength: 3,
      }),
    }),
    { maxLength: 2 },
  ),
  staleness: fc.constantFrom('none' as const, 'over' as const, 'current' as const, 'earlier' as const),
});

interface Feed {
  at: number;
  mode: string;
  source: string | null;
  bytes: number;
  isRemoved: boolean;
  isRequested: boolean;
  runs: Run[];
}

type Run = { run: number; at: number } & (({ kind: 'load' } & Load) | { kind: 'revert'; reverts: number });
type LoadRun = Extract<Run, { kind: 'load' }>;

/** Replays the steps until `end`, in hours. `of` counts from the newest feed. */
function feedsOf({ steps }: History, end: number): Feed[] {
  const feeds: Feed[] = [];
  let at = 0;
  for (const next of steps) {
    // A minute each, so that no two events have the same time.
    at += next.hours + 1 / 60;
    if (at > end) break;
    if (next.kind === 'upload') {
      const { mode, source, bytes, isRemoved } = next;
      feeds.push({ at, mode, source, bytes, isRemoved, isRequested: false, runs: [] });
      continue;
    }
    const feed = feeds.at(-1 - next.of);
    if (!feed) continue;
    const run = feed.runs.length + 1;
    if (next.kind === 'request') feed.isRequested = true;
    else if (next.kind === 'run') {
      feed.isRequested = false;
      feed.runs.push({ ...next, run, at, kind: 'load' });
    } else {
      // A reverted load cannot be reverted again.
      const undone = feed.runs.findLast((each) => isCompleted(each) && isInForce(feed, each));
      if (undone) feed.runs.push({ run, at, kind: 'revert', reverts: undone.run });
    }
  }
  return feeds;
}

const isCompleted = (run: Run) => run.kind === 'revert' || run.status === 'completed';

function isInForce(feed: Feed, run: Run): boolean {
  return !feed.runs.some(
    (later) => later.kind === 'revert' && later.reverts === run.run && isInForce(feed, later),
  );
}

type Reasons = Partial<Record<AttentionReason, number>>;

/** The model: the reasons, case by case. */
function expectedReasons({ sources, staleness }: History, feeds: Feed[], end: number): Reasons {
  const reasons: Reasons = {};
  const ended = feeds
    .flatMap((feed) => feed.runs.flatMap((run) => (run.kind === 'load' ? [{ feed, run }] : [])))
    .filter(({ run }) => ['completed', 'failed'].includes(run.status))
    .sort((a, b) => b.run.at - a.run.at);
  const [lastRun] = ended;
  if (lastRun?.run.status === 'failed') {
    const completedAt = ended.find(({ run }) => run.status === 'completed')?.run.at ?? -1;
    const failedFeeds = new Set(ended.filter(({ run }) => run.at > completedAt).map(({ feed }) => feed));
    const { wouldWithdraw, jumps } = lastRun.run;
    if (wouldWithdraw !== null) reasons.withdrawals_blocked = wouldWithdraw;
    else reasons.last_run_failed = failedFeeds.size;
    if (jumps !== null) reasons.price_jump = jumps;
  }

  const inForce = ended.filter(({ feed, run }) => run.status === 'completed' && isInForce(feed, run));
  const corrections = inForce.filter(({ run }) => run.isCorrection);
  const plain = inForce.filter(({ run }) => !run.isCorrection);
  // The last run of each feed.
  const loads = plain.filter(({ feed, run }) => !plain.some((o) => o.feed === feed && o.run.run > run.run));
  const [last] = loads;
  if (last) {
    const { processed, skipped, jumps } = last.run;
    if (jumps !== null) reasons.price_jump = Math.max(reasons.price_jump ?? 0, jumps);
    const corrected = corrections
      .filter(({ run }) => run.at > last.run.at)
      .reduce((sum, { run }) => sum + run.processed - run.skipped, 0);
    const left = skipped - corrected;
    if (left >= 5 && left >= processed / 10) reasons.many_skipped = left;
    const series = loads
      .filter(({ feed }) => feed.mode === last.feed.mode && feed.source === last.feed.source)
      .map(({ run }) => run);
    const before = series[1]?.processed ?? 0;
    if (before >= 20 && processed < before / 2) reasons.much_smaller = before - processed;
    const shares = series.map((run) => (run.processed === 0 ? 0 : run.skipped / run.processed));
    // Before the first load, no row was skipped.
    const fourth = series.length === 3 ? 0 : shares[3];
    const [first = 0, second = 0, third = 0] = shares;
    const rose = first > second && second > third && fourth !== undefined && third > fourth;
    if (rose && series.length >= 3 && skipped * 20 >= processed) reasons.more_skipped = skipped;
  }
  const priced = plain.find(({ run }) => run.prices !== null);
  if (priced) {
    const { prices, processed, skipped } = priced.run;
    const hadPrices = inForce.some(({ run }) => run.prices === 'some' && run.at < priced.run.at);
    if (prices === 'none' || (prices === 'absent' && hadPrices)) reasons.no_prices = processed - skipped;
  }

  const failing = sources.filter(({ isEnabled, failures, fetches }) => {
    const lastFetch = fetches.findLast((status) => status !== 'skipped');
    return isEnabled && (failures >= 5 || (failures > 0 && lastFetch === 'failed'));
  });
  if (failing.length > 0) reasons.source_failing = failing.length;

  const completedAt = ended.find(({ run }) => run.status === 'completed')?.run.at;
  const isNoticed = staleness === 'current' || (staleness === 'earlier' && completedAt === undefined);
  const countedFrom = completedAt ?? (sources.length > 0 ? 0 : feeds[0]?.at);
  if (isNoticed && countedFrom !== undefined) reasons.stale = Math.floor((end - countedFrom) / 24);

  const wasRun = (feed: Feed) =>
    feed.isRequested || feed.runs.some((run) => run.kind === 'load' && run.status !== 'cancelled');
  const waiting = feeds.filter(
    (feed, at) =>
      !wasRun(feed) &&
      !feed.isRemoved &&
      !feeds.slice(at).some(wasRun) &&
      !feeds.some(
        (o) => wasRun(o) && o.bytes === feed.bytes && o.mode === feed.mode && o.source === feed.source,
      ),
  );
  if (waiting[0] && end - waiting[0].at >= 24) reasons.never_run = waiting.length;
  return reasons;
}

let service: TestService;
let partnerId: number;
beforeAll(async () => {
  service = await startTestService();
  await sendTo(service.db, 'http://127.0.0.1:1/');
});

/** Stores the state of a history at `end`, as uploads, runs and fetches do. Hours count from `start`. */
async function store({ sources, staleness }: History, feeds: Feed[], start: number): Promise<void> {
  const { db } = service;
  const timeOf = (hours: number) => new Date(start + hours * hour).toISOString();
  await db.raw('truncate feeds, sources, stale_partners, partner_counts cascade');
  for (const [index, feed] of feeds.entries()) {
    const { rows } = await db.raw<{ rows: [{ feed_id: number }] }>(
      `insert into feeds (partner_id, filename, content_type, uploaded_at, raw_file_bucket, raw_file_object_key, sha256,
         size_bytes, mode, source_name, raw_file_removed_at)
       values (?, 'f.csv', 'text/csv', ?, 'b', ?, sha256(cast(? as bytea)), 1, ?, ?, ?) returning feed_id`,
      [
        partnerId,
        timeOf(feed.at),
        String(index),
        String(feed.bytes),
        feed.mode,
        feed.source,
        feed.isRemoved ? timeOf(feed.at) : null,
      ] as never,
    );
    const [{ feed_id: feedId }] = rows;
    const last = feed.runs.findLast((run): run is LoadRun => run.kind === 'load' && isEnded(run));
    const isShown = last !== undefined && !feed.isRequested;
    const job = await db('validation_jobs').insert(
      {
        feed_id: feedId,
        status: isShown ? last.status : 'queued',
        run_count: feed.runs.length,
        failure_reason: isShown && last.status === 'failed' ? 'It failed.' : null,
        ...(isShown && { finished_at: timeOf(last.at), ...countersOf(last) }),
      },
      'job_id',
    );
    const jobId = (job[0] as { job_id: number }).job_id;
    for (const run of feed.runs) await db('runs').insert(rowOf(run, jobId, timeOf(run.at)));
    if (feed.isRequested) {
      const run = feed.runs.length + 1;
      await db('runs').insert({ job_id: jobId, run, status: 'queued', requested_at: timeOf(feed.at) });
    }
  }
  for (const [index, source] of sources.entries()) {
    const [{ source_id: sourceId }] = (await db('sources').insert(
      {
        partner_id: partnerId,
        source_name: `source-${index}`,
        definition: JSON.stringify({ is_enabled: source.isEnabled }),
        failures_in_a_row: source.failures,
        created_at: timeOf(0),
      },
      'source_id',
    )) as [{ source_id: number }];
    for (const [at, status] of source.fetches.entries()) {
      await db('source_fetches').insert({
        source_id: sourceId,
        fetch_number: at + 1,
        status,
        finished_at: timeOf(at),
      });
    }
  }
  const completed = feeds
    .flatMap(({ runs }) => runs)
    .filter((run) => run.kind === 'load' && run.status === 'completed')
    .map(({ at }) => at)
    .sort((a, b) => b - a)[0];
  const completedAt = completed === undefined ? null : timeOf(completed);
  await db('partner_counts').insert({ partner_id: partnerId, last_completed_at: completedAt });
  if (staleness !== 'none') {
    const isEarlier = staleness === 'earlier' || completedAt === null;
    const row = { partner_id: partnerId, is_stale: staleness !== 'over' };
    await db('stale_partners').insert({ ...row, completed_at: isEarlier ? '-infinity' : completedAt });
  }
}

const isEnded = ({ status }: LoadRun) => status === 'completed' || status === 'failed';

const countersOf = ({ processed, skipped }: { processed: number; skipped: number }) => ({
  processed,
  inserted: processed - skipped,
  updated: 0,
  unchanged: 0,
  skipped,
});

const reasons: Partial<Record<Load['status'], string>> = {
  interrupted: 'The run was interrupted.',
  stopped: 'The run was cancelled.',
};

function rowOf(run: Run, jobId: number, finishedAt: string): object {
  const at = { job_id: jobId, run: run.run, kind: run.kind, finished_at: finishedAt };
  if (run.kind === 'revert')
    return {
      ...at,
      ...countersOf({ processed: 0, skipped: 0 }),
      status: 'completed',
      reverts_run: run.reverts,
    };
  if (run.status === 'cancelled') return { ...at, status: 'cancelled' };
  const isFailed = run.status !== 'completed';
  const reason = reasons[run.status] ?? 'It failed.';
  return {
    ...at,
    ...countersOf(run),
    status: isFailed ? 'failed' : 'completed',
    failure_reason: isFailed ? reason : null,
    would_withdraw: isFailed ? run.wouldWithdraw : null,
    prices: isFailed ? null : run.prices,
    price_jumps: run.jumps,
    is_correction: run.isCorrection && !isFailed,
  };
}

const readKept = () =>
  service
    .db('partner_attention')
    .orderBy('severity')
    .select<{ reason: AttentionReason; since: Date; count: number }[]>('reason', 'since', 'count');

const countsOf = (kept: { reason: AttentionReason; count: number }[]) =>
  Object.fromEntries(kept.map(({ reason, count: each }) => [reason, each]));

it('agrees with a model on the reasons for any history, and publishes added and removed reasons', async () => {
  const [partner] = (await service.db('partners').insert({ partner_name: 'Acme' }, 'partner_id')) as [
    { partner_id: number },
  ];
  partnerId = partner.partner_id;
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(history, fc.nat(100), async (of, percent) => {
      await service.db.raw('truncate partner_attention, webhook_deliveries');
      const length = of.steps.reduce((sum, { hours }) => sum + hours + 1 / 60, 0) + 1;
      const start = Date.now() - length * hour;
      // At a moment of the history, and at its end. The statement's time is the end of all histories.
      const early = feedsOf(of, (length * percent) / 100);
      await store(of, early, start);
      await keepAttention(service.db, onePartner(partnerId));
      const before = await readKept();
      expect(countsOf(before)).toEqual(expectedReasons(of, early, length));
      await service.db('webhook_deliveries').delete();

      const late = feedsOf(of, length);
      await store(of, late, start);
      await keepAttention(service.db, onePartner(partnerId));
      const after = await readKept();
      expect(countsOf(after)).toEqual(expectedReasons(of, late, length));
      for (const { reason } of after) seen.add(reason);

      const sinceOf = new Map(before.map(({ reason, since }) => [reason, since.getTime()]));
      for (const { reason, since } of after)
        expect([reason, sinceOf.get(reason) ?? since.getTime()]).toEqual([reason, since.getTime()]);
      const has = (list: typeof after, reason: string) => list.some((each) => each.reason === reason);
      const events = await service
        .db('webhook_deliveries')
        .pluck<{ reason: string; is_over: boolean }[]>('content');
      expect(events.map(({ reason, is_over: isOver }) => `${reason} ${isOver}`).sort()).toEqual(
        [
          ...before.filter(({ reason }) => !has(after, reason)).map(({ reason }) => `${reason} true`),
          ...after.filter(({ reason }) => !has(before, reason)).map(({ reason }) => `${reason} false`),
        ].sort(),
      );
    }),
    casesFor('reasons for attention', 60),
  );
  // The generated histories cover all kinds.
  expect([...seen].sort()).toEqual([...attentionReasons].sort());
});
