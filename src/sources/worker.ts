import { setTimeout as sleep } from 'node:timers/promises';
import { closeMilliseconds } from '../db/database';
import { startPeriodicTask } from '../shared/periodic-task';
import { checkAttention } from '../partners/keep-attention';
import {
  isPartnerWaiting,
  leaseMilliseconds,
  renewLease,
  RoundRobinClaims,
  type ClaimedFetch,
} from './claims.repository';
import { fetchSource, type FetchContext } from './fetch-source';
import { removeOldFetches } from './fetches.repository';
import { scheduleDue } from './scheduler';
import { noticeStalePartners } from './stale-partners.repository';

/** Concurrent fetches of a process: they mostly wait for servers. */
export const concurrentFetches = 8;

/** At shutdown, fetches in progress may take this long; then they are aborted, and another worker repeats them. */
const fetchStopMilliseconds = 5_000;

const failurePauseMilliseconds = 2_000;
const removalMilliseconds = 60_000;

/** Interval of looking for stale partners, of which each process reads all. */
const staleMilliseconds = 60_000;

/** Interval of the check of partners for what needs attention, and how many partners each process checks then. */
const attentionMilliseconds = 60_000;
const partnersPerCheck = 1_000;

interface SourceWorker {
  /** Drains: claims nothing more, and waits for fetches in progress for some seconds. Safe to call again. */
  stop(): Promise<void>;
}

interface SourceWorkerOptions {
  shutdownSeconds: number;
  /** Interval of polling for due sources and fetches, as not every pooler passes notifications on. */
  pollMilliseconds?: number;
  /** Seconds over which starts are spread. */
  spread?: number;
  /** Days without a completed feed after which a partner is stale; default: as its sources say. */
  partnerStaleDays?: number;
}

/** Starts to schedule and to fetch sources, and to notice stale partners. Several processes share the work. */
export function startSourceWorker(
  context: FetchContext,
  { shutdownSeconds, pollMilliseconds = 500, spread, partnerStaleDays }: SourceWorkerOptions,
): SourceWorker {
  const { db, log } = context;
  const stopping = new AbortController();
  const fetching = new Set<Promise<void>>();
  const claims = new RoundRobinClaims(db);
  let othersWait = false;

  /** A step of its own: one that fails stops no other. */
  const repeat = (what: string, milliseconds: number, run: () => Promise<unknown>) =>
    startPeriodicTask({
      milliseconds,
      millisecondsAfterFailure: Math.max(milliseconds, failurePauseMilliseconds),
      run,
      onError: (error) => log.warn({ err: error }, `failed to ${what}`),
    });

  const scheduling = repeat('schedule fetches of sources', pollMilliseconds, () =>
    scheduleDue(db, { spread, log }),
  );
  const removal = repeat('remove old fetches', removalMilliseconds, () => removeOldFetches(db));
  // The end of each fetch wakes it.
  const claiming = repeat('claim fetches of sources', pollMilliseconds, async () => {
    const free = concurrentFetches - fetching.size;
    othersWait = free === 0 && (await isPartnerWaiting(db));
    if (free === 0) return;
    for (const claim of await claims.claim(free)) {
      const fetched = fetchWithLease(claim, { ...context, othersWait: () => othersWait }, stopping.signal)
        .catch((error: unknown) =>
          log.warn({ err: error, fetch: claim.fetch_number }, 'failed to process a fetch'),
        )
        .finally(() => {
          fetching.delete(fetched);
          claiming.wake();
        });
      fetching.add(fetched);
    }
  });

  const staleness = repeat('look for stale partners', staleMilliseconds, async () => {
    const partners = await noticeStalePartners(db, partnerStaleDays);
    if (partners > 0) log.warn({ partners }, 'partners are stale');
  });
  let checkedPartner = 0;
  const attention = repeat('check what needs attention', attentionMilliseconds, async () => {
    checkedPartner = await checkAttention(db, checkedPartner, partnersPerCheck);
  });
  const tasks = [scheduling, removal, claiming, staleness, attention];

  const ended = async (milliseconds: number) => {
    await Promise.race([Promise.all(fetching), sleep(milliseconds, undefined, { ref: false })]);
  };
  const end = async () => {
    await Promise.all(tasks.map((task) => task.stop()));
    await ended(Math.min(fetchStopMilliseconds, shutdownSeconds * 1000));
    stopping.abort();
    // A fetch that is not released by then is repeated when its lease has expired.
    await ended(closeMilliseconds);
  };
  let stopped: Promise<void> | undefined;
  return { stop: () => (stopped ??= end()) };
}

/** Renews the lease three times within its length: a database that responds slowly once does not end it. */
async function fetchWithLease(
  claim: ClaimedFetch,
  context: FetchContext,
  stopping: AbortSignal,
): Promise<void> {
  const lease = startPeriodicTask({
    milliseconds: leaseMilliseconds / 3,
    startsAtOnce: false,
    run: () => renewLease(context.db, claim),
    onError: (error) => context.log.warn({ err: error }, 'failed to renew the lease of a fetch'),
  });
  try {
    await fetchSource(claim, context, stopping);
  } finally {
    await lease.stop();
  }
}
