import type { Document } from 'openapi-backend';
import document from '../generated/openapi.json';
import { analyticsHandlers } from './analytics/analytics.handlers';
import type { Config } from './config';
import type { Database, DatabaseAddress } from './db/database';
import { docsHandlers } from './docs/docs.handlers';
import { feedHandlers } from './feeds/feeds.handlers';
import { healthHandlers } from './health/health.handlers';
import type { AllChecks, ServedHandlers } from './http/contract';
import { InFlight } from './http/in-flight';
import { createRouter } from './http/router';
import type { HandleRequest } from './http/server';
import { jobChecks, jobHandlers } from './jobs/jobs.handlers';
import type { FeedRunner } from './jobs/jobs.service';
import { keyVerifier } from './keys/api-keys';
import type { Log } from './log';
import { orderChecks, orderHandlers } from './orders/orders.handlers';
import { productChecks, productHandlers } from './products/products.handlers';
import type { ObjectStore } from './storage/object-store';

/** Everything the application works with. */
export interface AppDependencies {
  config: Pick<Config, 'uploadBytesMax' | 'defaultCurrency' | 'servicePages'>;
  apiKeys: readonly string[];
  address: DatabaseAddress;
  db: Database;
  objectStore: ObjectStore;
  runner: FeedRunner;
  log: Log;
  /** Turns responses that break the document into errors; for tests. */
  verifyResponses?: boolean;
}

/** The whole HTTP application, not listening yet. */
export interface App {
  handle: HandleRequest;
  /** New requests are refused from now on. @returns when the last one in flight has ended */
  drain(): Promise<void>;
}

/** Puts the application together. @throws when the document and the handlers do not fit each other */
export async function createApp(dependencies: AppDependencies): Promise<App> {
  const { config, apiKeys, address, db, objectStore, runner, log, verifyResponses = false } = dependencies;
  const inFlight = new InFlight();
  let draining = false;

  const handlers: ServedHandlers = {
    ...feedHandlers({ db, objectStore, uploadBytesMax: config.uploadBytesMax }),
    ...jobHandlers(db, runner),
    ...productHandlers(db),
    ...orderHandlers(db, config.defaultCurrency),
    ...analyticsHandlers(db),
    ...healthHandlers(address),
    ...(config.servicePages && docsHandlers()),
  };
  const checks: AllChecks = { ...jobChecks, ...productChecks(db), ...orderChecks(db) };
  const route = await createRouter({
    document: document as unknown as Document,
    handlers,
    checks,
    isValidKey: keyVerifier(apiKeys),
    uploadBytesMax: config.uploadBytesMax,
    verifyResponses,
    isDraining: () => draining,
    log,
  });

  return {
    handle: (request, response) => inFlight.track(route(request, response)),
    drain() {
      draining = true;
      return inFlight.ended();
    },
  };
}
