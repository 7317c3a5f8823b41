import { isConflict, isDatabaseUnavailable } from '../../base/db/database';
import { ServiceError, unavailable, type ErrorCode, type StatusOf } from '../../base/errors';
import { StorageError } from '../../base/storage/object-store';
import { makeReply, type Reply } from '../contract/contract';

const retryAfterSeconds = 5;

/** The status of each code; another one than the document's does not compile. */
const statusOf: { readonly [Code in ErrorCode]: StatusOf<Code> } = {
  malformed_http: 400,
  incomplete_request: 400,
  malformed_path: 400,
  malformed_json: 400,
  malformed_multipart: 400,
  not_csv: 400,
  empty_file: 400,
  wrong_encoding: 400,
  invalid_gzip: 400,
  missing_columns: 400,
  duplicate_column: 400,
  header_too_long: 400,
  not_a_validation_job: 400,
  invalid_sort_by: 400,
  invalid_sort_order: 400,
  cursor_needs_product_id_sort: 400,
  invalid_cursor: 400,
  order_without_items: 400,
  mixed_currencies: 400,
  unauthorized: 401,
  read_only_key: 403,
  partner_not_allowed: 403,
  route_not_found: 404,
  feed_not_found: 404,
  raw_file_missing: 404,
  job_not_found: 404,
  run_not_found: 404,
  product_not_found: 404,
  order_not_found: 404,
  order_item_not_found: 404,
  partner_not_found: 404,
  format_not_found: 404,
  source_not_found: 404,
  webhook_not_found: 404,
  method_not_allowed: 405,
  not_acceptable: 406,
  request_timeout: 408,
  product_not_available: 409,
  idempotent_request_in_progress: 409,
  job_already_running: 409,
  job_already_queued: 409,
  run_cancelled: 409,
  no_run_to_cancel: 409,
  no_finished_run: 409,
  run_not_ended: 409,
  nothing_to_revert: 409,
  run_already_reverted: 409,
  run_not_kept: 409,
  revert_conflicts: 409,
  raw_file_unusable: 409,
  too_many_formats: 409,
  too_many_sources: 409,
  too_many_webhooks: 409,
  webhook_disabled: 409,
  format_in_use: 409,
  raw_file_removed: 410,
  history_not_kept: 410,
  body_too_large: 413,
  file_too_large: 413,
  unsupported_media_type: 415,
  range_not_satisfiable: 416,
  validation_error: 422,
  idempotency_key_used: 422,
  rate_limited: 429,
  header_too_large: 431,
  internal_error: 500,
  unknown_transfer_coding: 501,
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
  const code = expected?.code ?? 'internal_error';
  const headers = { 'x-error-code': code, ...(expected && headersOf(expected)) };
  return makeReply(
    statusOf[code],
    expected ? bodyOf(expected) : { detail: 'Internal server error' },
    headers,
  );
}

function headersOf({ code, data }: ServiceError): Record<string, unknown> {
  if (code === 'method_not_allowed') return { Allow: data.allowedMethods!.join(', ') };
  if (code === 'rate_limited' || code === 'unavailable')
    return { 'Retry-After': data.retryAfterSeconds ?? retryAfterSeconds };
  if (code === 'range_not_satisfiable') return { 'Content-Range': `bytes */${data.fileBytes}` };
  return {};
}

/** @returns the list of a 422, the body of an unknown job (specification, section 7), or the text */
function bodyOf({ message, data: { shapeErrors, id, conflicts } }: ServiceError): unknown {
  if (shapeErrors) return { detail: shapeErrors };
  if (id !== undefined) return { error_code: 'JOB_NOT_FOUND', message, details: { job_id: id } };
  return conflicts ? { detail: message, conflicts } : { detail: message };
}
