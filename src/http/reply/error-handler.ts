import type { ErrorRequestHandler } from 'express';
import type { ErrorCode } from '../../base/errors';
import { asServiceError, errorReply } from './error-response';
import type { Exchange } from '../contract/exchange';
import { prepareReply, sendReply, type PreparedReply } from './send-reply';
import { withoutInput, withPointers } from '../../base/shape-errors';

/** Sends the response to an error of a middleware or a handler; Express would send a page with the stack. */
export function sendError(verifyResponses: boolean): ErrorRequestHandler {
  // Express identifies the handler by its four parameters.
  return async (error: unknown, _request, response, _next) => {
    const { exchange } = response.locals as { exchange: Exchange };
    logFailure(exchange, error);
    if (response.headersSent) {
      response.destroy();
      exchange.end({ status: response.statusCode, error, truncated: true });
      return;
    }
    await sendReply(exchange, prepareError(error, exchange, verifyResponses), error);
  };
}

/** Makes the response to an error; a 500 if that fails too. */
function prepareError(error: unknown, exchange: Exchange, verifyResponses: boolean): PreparedReply {
  try {
    const body = exchange.found?.body;
    const hidden = body?.isSecret ? withoutInput(error) : error;
    const shown = body?.hasPointers ? withPointers(hidden) : hidden;
    return prepareReply(errorReply(shown), exchange, verifyResponses);
  } catch (second) {
    exchange.log.error({ err: second }, 'failed to make the response to an error');
    return prepareReply(errorReply(second), exchange, false);
  }
}

const malformed: ReadonlySet<ErrorCode> = new Set([
  'malformed_path',
  'malformed_json',
  'malformed_multipart',
]);

function logFailure(exchange: Exchange, error: unknown): void {
  const expected = asServiceError(error);
  if (!expected) exchange.log.error({ err: error }, 'request failed');
  // The request's log line describes a malformed body sufficiently, and the cause quotes it.
  else if (expected.data.cause && !malformed.has(expected.code))
    exchange.log.warn({ err: expected.data.cause, error_code: expected.code }, 'request refused');
}
