import type { Socket } from 'node:net';
import type { Document } from 'openapi-backend';
import document from '../generated/openapi.json';
import { analyticsHandlers } from './analytics/analytics.handlers';
import type { Config } from './config';
import type { Database, DatabaseAddress } from './db/database';
import { readsFrom, type Reads } from './db/reads';
import { servicePages } from './docs/service-pages';
import { feedHandlers } from './feeds/feeds.handlers';
import { createUploadLimits } from './feeds/incoming-upload';
import { healthHandlers } from './health/health.handlers';
import type { AllChecks, Handlers } from './http/contract';
import { InFlight } from './http/in-flight';
import { limitRate } from './http/rate-limit';
import { RequestLog, type HttpRefusal, type RequestRecord } from './http/request-log';
import { createPipeline } from './http/pipeline';
import type { HandleRequest } from './http/server';
import { delayWrongKeys, type DelayWrongKey } from './http/wrong-keys';
import { jobChecks, jobHandlers } from './jobs/jobs.handlers';
import { JobWatch } from './jobs/job-watch';
import { waitingRejectsMax } from './runs/rejects.service';
import type { Authenticate } from './shared/caller';
import type { Log } from './shared/log';
import { orderChecks, orderHandlers } from './orders/orders.handlers';
import { productChecks } from './products/products.checks';
import { productHandlers } from './products/products.handlers';
import { runChecks, runHandlers } from './runs/runs.handlers';
import type { RunWorker } from './runs/worker';
import { TransferLimit } from './shared/transfer-limit';
import type { ObjectStore } from './storage/object-store';
import { concurrentRejectsMax } from './runs/rejects';

/** Everything the application works with. */
interface AppDependencies {
  config: Pick<
    Config,
    | 'uploadBytesMax'
    | 'defaultCurrency'
    | 'servicePages'
    | 'rateLimit'
    | 'concurrentUploads'
    | 'concurrentDownloads'
  >;
  authenticate: Authenticate;
  address: DatabaseAddress;
  db: Database;
  /** Where the catalog and sales figures are read; absent: from `db`. */
  reads?: Reads;
  /** A pool of its own for the keys of uploads, see `receiveFeedIdempotently`. */
  claims: Database;
  objectStore: ObjectStore;
  runWorker: RunWorker;
  /** Downloads of rejects at a time; default: as many as the worker has connections for. */
  concurrentRejects?: number;
  /** Delays the refusal of a wrong key; default: where one address sends many. */
  delayWrongKey?: DelayWrongKey;
  /** Whether other processes answer on the same port: they count requests together. */
  sharesPort?: boolean;
  log: Log;
  /** Is told of each request when it is over. */
  observeRequest?: (record: RequestRecord) => void;
  /** Turns responses that break the document into errors; for tests. */
  verifyResponses?: boolean;
}

/** The whole HTTP application, not listening yet. */
export interface App {
  handle: HandleRequest;
  /** Is to be told of what the HTTP server refuses by itself. */
  logRefusal: (socket: Socket, refusal: HttpRefusal) => void;
  /** New requests are refused from now on. @returns when the last one in flight has ended */
  drain(): Promise<void>;
}

/** Puts the application together. @throws when the document and the handlers do not fit each other */
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
    concurrentRejects = concurrentRejectsMax,
    delayWrongKey = delayWrongKeys(),
    sharesPort,
    log,
    observeRequest,
    verifyResponses = false,
  } = dependencies;
  const inFlight = new InFlight();
  const watch = new JobWatch(db);
  let draining = false;

  const uploadLimits = createUploadLimits(config.concurrentUploads);
  const handlers: Handlers = {
    ...feedHandlers(
      { db, claims, objectStore, uploadBytesMax: config.uploadBytesMax, uploadLimits },
      new TransferLimit({ capacity: config.concurrentDownloads, what: 'downloads' }),
    ),
    ...jobHandlers(db, watch),
    ...runHandlers(
      { db, watch, worker },
      new TransferLimit({
        capacity: concurrentRejects,
        maxWaiting: waitingRejectsMax,
        what: 'downloads of rejects',
      }),
    ),
    ...productHandlers(reads),
    ...orderHandlers(db, config.defaultCurrency),
    ...analyticsHandlers(reads),
    ...healthHandlers(address),
  };
  const checks: AllChecks = { ...jobChecks, ...runChecks, ...productChecks(reads), ...orderChecks(db) };
  const staticFiles = config.servicePages ? servicePages() : undefined;
  const shownPaths = [...Object.keys(document.paths), ...(staticFiles?.keys() ?? [])];
  const requestLog = new RequestLog(log, shownPaths, observeRequest);
  const route = await createPipeline({
    document: document as unknown as Document,
    handlers,
    checks,
    staticFiles,
    authenticate,
    delayWrongKey,
    countRequest: limitRate(config.rateLimit, sharesPort),
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
