import type { Socket } from 'node:net';
import type { Document } from 'openapi-backend';
import document from '../generated/openapi.json';
import { analyticsHandlers } from './analytics/analytics.handlers';
import type { Config } from './config';
import type { Database, DatabaseAddress } from './db/database';
import { readsFrom, type Reads } from './db/reads';
import { servicePages } from './docs/service-pages';
import { feedChecks, feedHandlers } from './feeds/feeds.handlers';
import { createUploadLimits } from './feeds/upload-form';
import { healthHandlers } from './health/health.handlers';
import { formatChecks, formatHandlers, formatRules } from './formats/formats.handlers';
import type { AllChecks, Handlers } from './http/contract';
import { InFlight } from './http/in-flight';
import { limitRate, type RateLimit } from './http/rate-limit';
import { RequestLog, type HttpRefusal, type RequestRecord } from './http/request-log';
import { createPipeline } from './http/pipeline';
import type { HandleRequest } from './http/server';
import { delayWrongKeys, type DelayWrongKey } from './http/wrong-keys';
import { jobChecks, jobHandlers } from './jobs/jobs.handlers';
import { JobChanges } from './jobs/job-changes';
import type { Authenticate } from './shared/caller';
import type { Log } from './shared/log';
import { orderChecks, orderHandlers } from './orders/orders.handlers';
import { partnerChecks, partnerHandlers } from './partners/partners.handlers';
import { historyHandlers } from './products/history.handlers';
import { provenanceHandlers } from './provenance/provenance.handlers';
import { productChecks } from './products/products.checks';
import { productHandlers } from './products/products.handlers';
import { sourceChecks, sourceHandlers, sourceRules } from './sources/sources.handlers';
import { runChecks, runHandlers } from './runs/runs.handlers';
import type { RunWorker } from './runs/worker';
import { queueChecks, queueHandlers } from './runs/queue.handlers';
import type { SecretBox } from './shared/secret-box';
import { concurrentDownloadsMax, TransferLimit } from './shared/transfer-limit';
import type { ObjectStore } from './storage/object-store';
import { concurrentRejectsMax } from './runs/rejects';
import { webhookChecks, webhookHandlers } from './webhooks/webhooks.handlers';

interface AppDependencies {
  config: Pick<Config, 'uploadBytesMax' | 'defaultCurrency' | 'servicePages' | 'concurrentUploads'> & {
    rateLimit?: RateLimit;
  };
  authenticate: Authenticate;
  address: DatabaseAddress;
  db: Database;
  /** Reads of catalog and analytics; default: from `db`. */
  reads?: Reads;
  /** Pool for the idempotency keys of uploads, see `receiveUpload`. */
  claims: Database;
  objectStore: ObjectStore;
  runWorker: RunWorker;
  /** Encrypts the secrets of sources; absent: no source can have any. */
  secretBox?: SecretBox;
  /** Maximum concurrent downloads of raw files and of products; default: `concurrentDownloadsMax`. */
  concurrentDownloads?: number;
  /** Maximum concurrent downloads of rejects; default: the connections of the worker. */
  concurrentRejects?: number;
  /** Delays the response to a wrong key; default: for addresses with many. */
  delayWrongKey?: DelayWrongKey;
  log: Log;
  observeRequest?: (record: RequestRecord) => void;
  /** Validates responses against the document; for tests. */
  verifyResponses?: boolean;
}

/** The HTTP application, not listening yet. */
export interface App {
  handle: HandleRequest;
  /** Logs requests rejected by the HTTP server before routing. */
  logRefusal: (socket: Socket, refusal: HttpRefusal) => void;
  /** Rejects new requests. @returns when the last request in progress has ended */
  drain(): Promise<void>;
}

/** Composes the application. @throws when document and handlers do not match */
export async function createApp(dependencies: AppDependencies): Promise<App> {
  const {
    config,
    authenticate,
    address,
    db,
    reads = readsFrom(db),
    claims,
    objectStore,
    runWorker: worker,
    secretBox,
    concurrentDownloads = concurrentDownloadsMax,
    concurrentRejects = concurrentRejectsMax,
    delayWrongKey = delayWrongKeys(),
    log,
    observeRequest,
    verifyResponses = false,
  } = dependencies;
  const inFlight = new InFlight();
  const changes = new JobChanges(db);
  let draining = false;

  const uploadLimits = createUploadLimits(config.concurrentUploads);
  const downloads = new TransferLimit({ capacity: concurrentDownloads, what: 'downloads' });
  const handlers: Handlers = {
    ...feedHandlers(
      {
        db,
        claims,
        objectStore,
        uploadBytesMax: config.uploadBytesMax,
        uploadLimits,
        defaultCurrency: config.defaultCurrency,
      },
      downloads,
    ),
    ...jobHandlers(db, changes),
    ...runHandlers(
      { db, changes, worker },
      new TransferLimit({ capacity: concurrentRejects, what: 'downloads of rejects' }),
    ),
    ...queueHandlers(db),
    ...partnerHandlers(db),
    ...formatHandlers(db),
    ...sourceHandlers(db, secretBox),
    ...productHandlers(db, reads, downloads),
    ...historyHandlers(reads),
    ...orderHandlers(db, config.defaultCurrency),
    ...provenanceHandlers(db, objectStore),
    ...analyticsHandlers(reads),
    ...webhookHandlers(db),
    ...healthHandlers(address),
  };
  const checks: AllChecks = {
    ...feedChecks(db),
    ...partnerChecks,
    ...formatChecks,
    ...sourceChecks,
    ...jobChecks,
    ...runChecks,
    ...queueChecks,
    ...productChecks(reads),
    ...orderChecks(db),
    ...webhookChecks,
  };
  const staticFiles = config.servicePages ? servicePages() : undefined;
  const shownPaths = [...Object.keys(document.paths), ...(staticFiles?.keys() ?? [])];
  const requestLog = new RequestLog(log, shownPaths, observeRequest);
  const route = await createPipeline({
    document: document as unknown as Document,
    handlers,
    checks,
    rules: { ...formatRules, ...sourceRules },
    staticFiles,
    authenticate,
    delayWrongKey,
    countRequest: limitRate(config.rateLimit),
    uploadBytesMax: config.uploadBytesMax,
    verifyResponses,
    isDraining: () => draining,
    log,
    requestLog,
  });

  return {
    handle: (request, response) => inFlight.track(route(request, response)),
    logRefusal: (socket, refusal) => requestLog.refused(socket, refusal),
    drain() {
      draining = true;
      return inFlight.ended();
    },
  };
}
