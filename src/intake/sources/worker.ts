import { startClaimingWorker, type ClaimingWorker } from '../../base/concurrency/claiming-worker';
import { startPeriodicTask } from '../../base/concurrency/periodic-task';
import { checkAttention } from '../../catalog/partners/keep-attention';
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

const failurePauseMilliseconds = 2_000;
const removalMilliseconds = 60_000;

/** Interval of the search for stale partners, in which each process reads all partners. */
const staleMilliseconds = 60_000;

/** Interval of the attention check, and the number of partners that each process checks then. */
const attentionMilliseconds = 60_000;
const partnersPerCheck = 1_000;

interface SourceWorkerOptions {
  shutdownSeconds: number;
  /** Interval of polling for due sources and fetches. */
  pollMilliseconds?: number;
  /** Seconds over which starts are spread. */
  spread?: number;
  /** Days without a completed feed after which a partner is stale; default: only its sources set them. */
  partnerStaleDays?: number;
}

/** Starts to schedule and to fetch sources, and to notice stale partners. Several processes share the work. */
export function startSourceWorker(
  context: FetchContext,
  { shutdownSeconds, pollMilliseconds = 500, spread, partnerStaleDays }: SourceWorkerOptions,
): ClaimingWorker {
  const { db, log } = context;
  const claims = new RoundRobinClaims(db);
  let othersWait = false;

  /** A separate task: its failure stops no other. */
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
  const worker = startClaimingWorker({
    pollMilliseconds,
    shutdownSeconds,
    async claim(inProgress) {
      const free = concurrentFetches - inProgress;
      othersWait = free === 0 && (await isPartnerWaiting(db));
      return free === 0 ? [] : claims.claim(free);
    },
    execute: (claim, signal) => fetchWithLease(claim, { ...context, othersWait: () => othersWait }, signal),
    onClaimError: (error) => log.warn({ err: error }, 'failed to claim fetches of sources'),
    onError: (error, { fetch_number }) =>
      log.warn({ err: error, fetch: fetch_number }, 'failed to process a fetch'),
  });

  const staleness = repeat('look for stale partners', staleMilliseconds, async () => {
    const partners = await noticeStalePartners(db, partnerStaleDays);
    if (partners > 0) log.warn({ partners }, 'partners are stale');
  });
  let checkedPartner = 0;
  const attention = repeat('check what needs attention', attentionMilliseconds, async () => {
    checkedPartner = await checkAttention(db, checkedPartner, partnersPerCheck);
  });
  const tasks = [scheduling, removal, staleness, attention, worker];
  return {
    async stop() {
      await Promise.all(tasks.map((task) => task.stop()));
    },
  };
}

/** Renews the lease three times within its length: a single slow response of the database does not end it. */
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
