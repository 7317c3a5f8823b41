import type { Socket } from 'node:net';
import type { Express } from 'express';
import type { Document } from 'openapi-backend';
import document from '../generated/openapi.json';
import { analyticsOperations } from './sales/analytics/analytics.handlers';
import type { Config } from './config';
import type { Database, DatabaseAddress } from './base/db/database';
import { readsFrom, type Reads } from './base/db/reads';
import { openPages } from './http/pages/pages';
import { feedOperations } from './intake/feeds/feeds.handlers';
import { createUploadLimits } from './intake/feeds/upload-form';
import { healthOperations } from './http/health.handlers';
import { formatOperations } from './catalog/formats/formats.handlers';
import { createApplication } from './http/application';
import type { Operations } from './http/contract/contract';
import { openOperations } from './http/contract/operations';
import { InFlight } from './http/contract/in-flight';
import { readerOfPuts } from './http/contract/read-as-put';
import { limitRate, type RateLimit } from './http/rate-limit';
import { RequestLog, type HttpRefusal, type RequestRecord } from './http/request-log';
import { delayWrongKeys, type DelayWrongKey } from './http/keys/wrong-keys';
import { jobOperations } from './runs/jobs/jobs.handlers';
import { JobChanges } from './runs/jobs/job-changes';
import type { Authenticate } from './base/caller';
import type { Log } from './base/log';
import { orderOperations } from './sales/orders/orders.handlers';
import { partnerOperations } from './catalog/partners/partners.handlers';
import { historyOperations } from './catalog/products/history.handlers';
import { provenanceOperations } from './intake/provenance/provenance.handlers';
import { productOperations } from './catalog/products/products.handlers';
import { sourceOperations } from './intake/sources/sources.handlers';
import { skippedRowsOperations } from './runs/skipped-rows.handlers';
import { runOperations } from './runs/runs.handlers';
import type { RunWorker } from './runs/execution/worker';
import { queueOperations } from './runs/queue.handlers';
import type { SecretBox } from './base/secret-box';
import { concurrentDownloadsMax, TransferLimit } from './base/concurrency/transfer-limit';
import type { ObjectStore } from './base/storage/object-store';
import { concurrentRejectsMax } from './runs/execution/rejects';
import { partnerWebhookOperations } from './webhooks/partner-webhooks.handlers';
import { webhookOperations } from './webhooks/webhooks.handlers';

interface AppDependencies {
  config: Pick<Config, 'uploadBytesMax' | 'defaultCurrency' | 'servicePages' | 'concurrentUploads'> & {
    rateLimit?: RateLimit;
    /** Default: false. */
    partnerWebhookPrivateAddresses?: boolean;
    /** Of pings of webhooks; default: direct connections. */
    outboundProxy?: URL;
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
  /** Encrypts the secrets of sources and of webhooks of partners; absent: there can be none. */
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
  application: Express;
  logRefusal: (socket: Socket, refusal: HttpRefusal) => void;
  /** Rejects new requests. @returns when the last request in progress has ended */
  drain(): Promise<void>;
}

/** Composes the application. @throws Error for a registered operation that the document lacks, or pages that are not built */
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
  const operations: Operations = {
    ...feedOperations(
      {
        db,
        reads,
        claims,
        objectStore,
        uploadBytesMax: config.uploadBytesMax,
        uploadLimits,
        defaultCurrency: config.defaultCurrency,
      },
      downloads,
    ),
    ...jobOperations(db, changes),
    ...runOperations(
      { db, changes, worker },
      new TransferLimit({ capacity: concurrentRejects, what: 'downloads of rejects' }),
    ),
    ...queueOperations(db),
    ...partnerOperations(db),
    ...formatOperations(db),
    ...sourceOperations(db, secretBox),
    ...productOperations(db, reads, downloads),
    ...historyOperations(reads),
    ...orderOperations(db, config.defaultCurrency),
    ...provenanceOperations(db, objectStore),
    ...analyticsOperations(reads),
    ...skippedRowsOperations(reads),
    ...webhookOperations(db),
    ...partnerWebhookOperations(db, {
      secretBox,
      privateAddresses: config.partnerWebhookPrivateAddresses ?? false,
      proxy: config.outboundProxy,
    }),
    ...healthOperations(address),
  };
  const pages = config.servicePages ? openPages() : undefined;
  const shownPaths = [...Object.keys(document.paths), ...(pages?.paths ?? [])];
  const requestLog = new RequestLog(log, shownPaths, observeRequest);
  const openApi = await openOperations(document as unknown as Document, operations, config.uploadBytesMax);
  const service = {
    openLog: (id: string) => log.child({ request_id: id }),
    isDraining: () => draining,
    readAsPut: readerOfPuts(openApi),
    inFlight,
  };
  const application = createApplication({
    openApi,
    pages: pages?.serve,
    authenticate,
    delayWrongKey,
    countRequest: limitRate(config.rateLimit),
    service,
    requestLog,
    verifyResponses,
  });

  return {
    application,
    logRefusal: (socket, refusal) => requestLog.refused(socket, refusal),
    drain() {
      draining = true;
      return inFlight.ended();
    },
  };
}
