import express, { type Express } from 'express';
import type { Authenticate } from '../base/caller';
import { setSecurityHeaders } from './reply/common-headers';
import { sendError } from './reply/error-handler';
import type { Middleware, ServiceState } from './contract/exchange';
import {
  beginRequest,
  callOperation,
  checkShape,
  findOperation,
  limitRateOfKey,
  readBody,
  requireCaller,
  requirePermission,
} from './middleware';
import type { OpenApi } from './contract/operations';
import type { CountRequest } from './rate-limit';
import type { RequestLog } from './request-log';
import type { DelayWrongKey } from './keys/wrong-keys';

interface ApplicationOptions {
  openApi: OpenApi;
  /** Serves files outside of the document. */
  pages?: Middleware;
  authenticate: Authenticate;
  delayWrongKey: DelayWrongKey;
  countRequest: CountRequest;
  service: ServiceState;
  requestLog: RequestLog;
  /** Validates every response against the document; a violation is a 500. For tests. */
  verifyResponses: boolean;
}

/** Makes the Express application: all checks in the order of the document. */
export function createApplication(options: ApplicationOptions): Express {
  const { openApi, requestLog, service, authenticate, delayWrongKey, countRequest, verifyResponses } =
    options;
  const app = express();
  // Defaults of Express that are not in the contract.
  app.disable('x-powered-by').disable('etag').disable('query parser');
  app.enable('case sensitive routing').enable('strict routing');

  app.use(beginRequest(requestLog, service));
  app.use((_request, response, next) => {
    setSecurityHeaders(response);
    next();
  });
  if (options.pages) app.use(options.pages);
  app.use(findOperation(openApi)); // 404, 405
  app.use(requireCaller(authenticate, delayWrongKey)); // 503, 401
  app.use(limitRateOfKey(countRequest)); // 429
  app.use(readBody); // 415, 413, 400
  app.use(checkShape(openApi)); // 400, 422
  app.use(requirePermission); // 403
  app.use(callOperation(openApi, verifyResponses)); // 403, 404, 409 and 2xx
  app.use(sendError(verifyResponses));
  return app;
}
