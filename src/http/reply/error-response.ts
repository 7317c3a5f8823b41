import { isConflict, isDatabaseUnavailable } from '../../base/db/database';
import { ServiceError, unavailable, type ErrorCode } from '../../base/errors';
import { StorageError } from '../../base/storage/object-store';
import { makeReply, type Reply } from '../contract/contract';

const retryAfterSeconds = 5;

/** The status of each error code; a code without an entry does not compile. */
const statusOf: Record<ErrorCode, number> = {
  route_not_found: 404,
  method_not_allowed: 405,
  not_acceptable: 406,
  malformed_request: 400,
  invalid_feed_file: 400,
  invalid_query: 400,
  invalid_order: 400,
  not_a_validation_job: 400,
  unauthorized: 401,
  read_only_key: 403,
  partner_not_allowed: 403,
  feed_not_found: 404,
  raw_file_missing: 404,
  job_not_found: 404,
  job_to_run_not_found: 404,
  run_not_found: 404,
  product_not_found: 404,
  order_not_found: 404,
  order_item_not_found: 404,
  partner_not_found: 404,
  format_not_found: 404,
  webhook_not_found: 404,
  source_not_found: 404,
  ordered_product_not_found: 404,
  product_not_available: 409,
  too_many_formats: 409,
  format_in_use: 409,
  too_many_sources: 409,
  job_already_running: 409,
  job_already_waiting: 409,
  run_cancelled: 409,
  no_run: 409,
  no_finished_run: 409,
  run_not_completed: 409,
  run_already_reverted: 409,
  run_not_kept: 409,
  revert_conflicts: 409,
  raw_file_unusable: 409,
  idempotent_request_in_progress: 409,
  raw_file_removed: 410,
  history_not_kept: 410,
  request_timeout: 408,
  too_large: 413,
  unsupported_media_type: 415,
  invalid_shape: 422,
  idempotency_key_used: 422,
  rate_limited: 429,
  unavailable: 503,
};

/** Returns a thrown value as an expected error; undefined for a fault of the service. */
export function asServiceError(error: unknown): ServiceError | undefined {
  if (error instanceof ServiceError) return error;
  const canSucceedLater = isDatabaseUnavailable(error) || isConflict(error) || error instanceof StorageError;
  if (canSucceedLater) return unavailable(error);
  return undefined;
}

/** Makes the response to a thrown value, without its cause, which is for the log. */
export function errorReply(error: unknown): Reply {
  const expected = asServiceError(error);
  if (!expected) return makeReply(500, { detail: 'Internal server error' });
  const status = statusOf[expected.code];
  switch (expected.code) {
    case 'invalid_shape':
      return makeReply(status, { detail: expected.data.shapeErrors });
    case 'job_not_found':
      return makeReply(status, {
        error_code: 'JOB_NOT_FOUND',
        message: expected.message,
        details: { job_id: expected.data.id },
      });
    case 'revert_conflicts':
      return makeReply(status, { detail: expected.message, conflicts: expected.data.conflicts });
    case 'method_not_allowed': {
      const allow = expected.data.allowedMethods!.join(', ');
      return makeReply(status, { detail: expected.message }, { Allow: allow });
    }
    case 'rate_limited':
    case 'unavailable': {
      const seconds = expected.data.retryAfterSeconds ?? retryAfterSeconds;
      return makeReply(status, { detail: expected.message }, { 'Retry-After': seconds });
    }
    case 'not_acceptable':
    case 'read_only_key':
    case 'partner_not_allowed':
      return makeReply(status, { detail: expected.message }, { 'x-error-code': expected.code });
    default:
      return makeReply(status, { detail: expected.message });
  }
}
