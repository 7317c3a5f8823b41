import type { Knex } from 'knex';
import { inTransaction } from '../../base/db/transaction';
import type { Log } from '../../base/log';
import { invalidShape, ServiceError } from '../../base/errors';
import { loadOptionsOf, type LoadOptions } from '../../feed-format/load-options';
import { receiveFeed, type ReceiveContext } from '../feeds/receive-feed';
import { findUploadFormat, type UploadFormat } from '../../catalog/formats/find-format';
import { requestRun } from '../../runs/queue/run-requests.repository';
import { queuedRunAttempts } from '../../runs/queue/run-target.repository';
import type { SecretBox } from '../../base/secret-box';
import {
  endFetch,
  failAttempt,
  releaseFetch,
  type ClaimedFetch,
  type FetchOutcome,
  type Validators,
} from './claims.repository';
import { FetchFailure } from './fetch-failure';
import { isLastFeedCurrent, repeatsLastFeed } from './last-feed.repository';
import { openSourceFile, type SourceFile } from './source-file';
import { failingAfter } from '../../catalog/partners/attention';
import { originOf } from './source-definition';
import { openSecrets } from './source-secrets';

/** Limits of the attempts to fetch a source. */
export const fetchLimits = {
  /** Maximum duration of an attempt. */
  attemptMilliseconds: 3600 * 1000,

  /** Pauses before each further attempt, in seconds, plus up to a fifth. */
  retrySeconds: [60, 300, 900, 1_800],
};

/** How an attempt ended, for metrics. */
export type AttemptOutcome = 'completed' | 'unchanged' | 'failed';

export interface FetchContext extends ReceiveContext {
  secretBox: SecretBox | undefined;
  privateAddresses: boolean;
  /** Absent: direct connections. */
  proxy?: URL;
  /** Whether another partner waits for a slot: then a slow transfer is aborted. Default: never. */
  othersWait?: () => boolean;
  observe?: (outcome: AttemptOutcome) => void;
}

/** The attempt has lost its lease or its source: all its writes are rolled back. */
class Superseded extends Error {}

/** The file equals the last feed's: no feed is created. */
class RepeatedFile extends Error {}

/**
 * Makes one attempt to fetch a source. A failed attempt is repeated with backoff if the next one can succeed.
 * @param stopping - aborts the attempt, which then does not count
 * @throws errors of the database; another worker makes the next attempt when the lease has expired
 */
export async function fetchSource(
  claim: ClaimedFetch,
  context: FetchContext,
  stopping: AbortSignal,
): Promise<void> {
  const { log, db, observe } = context;
  const { partner_name, source_name, fetch_number: fetch, attempts } = claim;
  const line = { partner_name, source_name, fetch, attempt: attempts };
  const limit = AbortSignal.timeout(fetchLimits.attemptMilliseconds);
  try {
    // The workers of the earlier attempts died.
    if (attempts > fetchLimits.retrySeconds.length + 1)
      throw new FetchFailure('aborted', 'The attempts were interrupted. Fetch the source again.');
    const outcome = await attempt(claim, context, AbortSignal.any([stopping, limit]));
    log.info({ ...line, feed_id: outcome.feedId }, `source fetched: ${outcome.status}`);
    observe?.(outcome.status);
  } catch (error) {
    if (error instanceof Superseded)
      return log.warn(line, 'fetch given to another worker, or its source was deleted');
    if (stopping.aborted) return releaseFetch(db, claim);
    observe?.('failed');
    await recordFailure(claim, limit.aborted ? tookTooLong() : error, log.child(line), db);
  }
}

const tookTooLong = () =>
  new FetchFailure('timeout', 'The fetch took more than an hour.', { isTransient: true });

async function recordFailure(
  claim: ClaimedFetch,
  error: unknown,
  log: Log,
  db: FetchContext['db'],
): Promise<void> {
  const { isTransient, isServiceFault, httpStatus, retryAfterSeconds, message } = describeFailure(error);
  const pause = isTransient ? fetchLimits.retrySeconds[claim.attempts - 1] : undefined;
  // With jitter, so that concurrent failures are not retried together.
  const retrySeconds = pause && Math.max(pause * (1 + Math.random() / 5), retryAfterSeconds ?? 0);
  if (isServiceFault) log.warn({ err: error }, 'failed to fetch a source');
  const failures = await failAttempt(db, claim, {
    retrySeconds,
    httpStatus,
    reason: message,
    counts: !isServiceFault,
  });
  log.warn({ failure: message, failures_in_a_row: failures }, 'source not fetched');
  if (failures === failingAfter && !isServiceFault) log.error({ failure: message }, 'source is failing');
}

/** Describes an error for the partner; only faults of the source count as its failures. */
function describeFailure(error: unknown) {
  const known = error instanceof FetchFailure ? error : refusalOf(error);
  const serviceFault = new FetchFailure('unavailable', 'The service could not store the file.', {
    isTransient: true,
    isServiceFault: true,
  });
  const { message, isTransient, httpStatus, retryAfterSeconds, isServiceFault } = known ?? serviceFault;
  return { message, isTransient, httpStatus, retryAfterSeconds, isServiceFault };
}

/** Returns the failure if the checks of an upload refuse the file. */
function refusalOf(error: unknown): FetchFailure | undefined {
  if (!(error instanceof ServiceError) || error.code === 'unavailable') return undefined;
  const [fault] = error.data.shapeErrors ?? [];
  const sentence = fault ? `${fault.loc.slice(1).join('.')}: ${fault.msg}.` : error.message;
  return new FetchFailure(error.code, sentence, { httpStatus: 200 });
}

/** @throws FetchFailure, ServiceError, Superseded, StorageError; the reason of the signal */
async function attempt(
  claim: ClaimedFetch,
  context: FetchContext,
  signal: AbortSignal,
): Promise<FetchOutcome> {
  const { definition, secrets: sealed, last_feed_id: lastFeedId } = claim;
  const loading = await loadingOf(claim, context);
  const known = await knownValidators(claim, loading, context);
  const secretHeaders = headersOf(claim, openSecrets(context.secretBox, originOf(definition), sealed));
  const { privateAddresses, proxy, othersWait } = context;
  const request = { url: definition.url, secretHeaders };
  const file = await openSourceFile(request, known, { privateAddresses, proxy, signal, othersWait });
  if (!('content' in file)) {
    const outcome: FetchOutcome = { status: 'unchanged', feedId: lastFeedId!, httpStatus: file.httpStatus };
    await inTransaction(context.db, 'request', (trx) => end(trx, claim, outcome));
    return outcome;
  }
  try {
    return await receive(claim, file, loading, context);
  } finally {
    await file.content.return();
  }
}

/** Options to read and load the file of a source. */
interface Loading {
  options: LoadOptions;
  found: UploadFormat;
}

async function loadingOf(
  { partner_name: partnerName, definition }: ClaimedFetch,
  { db }: FetchContext,
): Promise<Loading> {
  const { mode, collection, format: formatName } = definition;
  const options = loadOptionsOf({ mode, collection: collection ?? undefined, formatName });
  return { options, found: await findUploadFormat(db, partnerName, options) };
}

/** Returns the validators of the last response, if an unchanged file would change nothing. */
async function knownValidators(
  {
    definition: { run_after_fetch: runAfterFetch },
    last_feed_id: lastFeedId,
    etag,
    last_modified: lastModified,
  }: ClaimedFetch,
  { options, found }: Loading,
  { db }: FetchContext,
): Promise<Validators> {
  const none = { etag: null, lastModified: null };
  if (lastFeedId === null || (etag ?? lastModified) === null || 'error' in found) return none;
  const reading = { ...options, format: found.format?.definition ?? null };
  return (await isLastFeedCurrent(db, lastFeedId, reading, runAfterFetch)) ? { etag, lastModified } : none;
}

/** @throws FetchFailure if the stored secrets cannot be decrypted */
function headersOf(
  { definition: { basic_auth: auth } }: ClaimedFetch,
  secrets: ReturnType<typeof openSecrets>,
) {
  if (secrets === 'unreadable') {
    throw new FetchFailure('secrets_unreadable', 'The stored secrets cannot be decrypted: send them again.');
  }
  const { headers, password } = secrets;
  if (!auth || password === undefined) return headers;
  return {
    ...headers,
    authorization: `Basic ${Buffer.from(`${auth.username}:${password}`).toString('base64')}`,
  };
}

/** Receives the file as a feed, and ends the fetch in the same transaction. @throws validation_error without its format */
async function receive(
  claim: ClaimedFetch,
  file: SourceFile,
  { options, found }: Loading,
  context: FetchContext,
): Promise<FetchOutcome> {
  const { httpStatus, validators, fileName } = file;
  const { last_feed_id: lastFeedId, partner_name: partnerName } = claim;
  if ('error' in found) throw invalidShape([found.error]);
  let sourceError: unknown;
  async function* content(): AsyncGenerator<Buffer, void> {
    try {
      yield* file.content;
    } catch (error) {
      sourceError = error;
      throw error;
    }
  }
  const feed = {
    partnerName,
    options,
    format: found.format,
    file: { fileName, mediaType: 'text/csv', content: content() },
  };
  try {
    const { feedId } = await receiveFeed(feed, context, {
      async beforeCommit(trx, { feedId, validationJobId }) {
        if (lastFeedId !== null && (await repeatsLastFeed(trx, feedId, lastFeedId))) throw new RepeatedFile();
        if (claim.definition.run_after_fetch) await run(trx, claim, { feedId, validationJobId });
        await end(trx, claim, { status: 'completed', feedId, httpStatus, validators });
      },
    });
    return { status: 'completed', feedId, httpStatus };
  } catch (error) {
    if (sourceError) throw sourceError;
    if (error instanceof ServiceError && error.code === 'partner_not_found') throw new Superseded();
    if (!(error instanceof RepeatedFile)) throw error;
    const outcome: FetchOutcome = { status: 'unchanged', feedId: lastFeedId!, httpStatus, validators };
    await inTransaction(context.db, 'request', (trx) => end(trx, claim, outcome));
    return outcome;
  }
}

async function run(
  trx: Knex.Transaction,
  { partner_id: partnerId, source_name, definition }: ClaimedFetch,
  { feedId, validationJobId: jobId }: { feedId: number; validationJobId: number },
): Promise<void> {
  const { mode = 'upsert', max_withdrawn_percent: percent } = definition;
  const target = { jobId, feedId, partnerId, mode, isLarge: false };
  const request = { maxWithdrawnPercent: percent ?? undefined, requestedBy: `source:${source_name}` };
  await requestRun(trx, { ...target, ...request }, queuedRunAttempts);
}

/** Ends the fetch. @throws Superseded */
async function end(trx: Knex.Transaction, claim: ClaimedFetch, outcome: FetchOutcome): Promise<void> {
  if (!(await endFetch(trx, claim, outcome))) throw new Superseded();
}
