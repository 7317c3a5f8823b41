/** Expected failures of the domain. Only `http/error-response.ts` maps a code to a status and a body. */
export type ErrorCode =
  | 'malformed_request'
  | 'unsupported_media_type'
  | 'too_large'
  | 'request_timeout'
  | 'invalid_shape'
  | 'unauthorized'
  | 'partner_not_allowed'
  | 'read_only_key'
  | 'rate_limited'
  | 'invalid_feed_file'
  | 'invalid_query'
  | 'invalid_order'
  | 'not_a_validation_job'
  | 'no_run'
  | 'feed_not_found'
  | 'raw_file_missing'
  | 'job_not_found'
  | 'job_to_run_not_found'
  | 'product_not_found'
  | 'order_not_found'
  | 'ordered_product_not_found'
  | 'product_not_available'
  | 'job_already_running'
  | 'job_already_waiting'
  | 'no_finished_run'
  | 'raw_file_unusable'
  | 'idempotent_request_in_progress'
  | 'idempotency_key_used'
  | 'unavailable';

/** One violation of the schema of a request; `input` is the value as sent. */
export interface ShapeError {
  type: string;
  loc: (string | number)[];
  msg: string;
  input?: unknown;
  ctx?: Record<string, unknown>;
}

/** An expected failure: `code` decides the response, `message` is the public text, `cause` is for the log only. */
export class ServiceError extends Error {
  constructor(
    readonly code: ErrorCode,
    publicText: string,
    readonly data: {
      id?: string;
      shapeErrors?: ShapeError[];
      retryAfterSeconds?: number;
      cause?: unknown;
    } = {},
  ) {
    super(publicText, { cause: data.cause });
  }
}

export const malformedRequest = (text: string, cause?: unknown) =>
  new ServiceError('malformed_request', text, { cause });
export const unsupportedMediaType = (expected: string) =>
  new ServiceError('unsupported_media_type', `Unsupported media type. Send the body as ${expected}.`);
export const requestTimedOut = () =>
  new ServiceError('request_timeout', 'The request took too long to arrive.');
export const bodyTooLarge = (bytesMax: number) =>
  new ServiceError('too_large', `Request body exceeds the limit of ${bytesMax} bytes.`);
export const fileTooLarge = (bytesMax: number) =>
  new ServiceError('too_large', `Uploaded file exceeds the limit of ${bytesMax} bytes.`);
export const invalidShape = (shapeErrors: ShapeError[]) =>
  new ServiceError('invalid_shape', 'The request has the wrong shape.', { shapeErrors });
export const unauthorized = () => new ServiceError('unauthorized', 'Invalid or missing API key');
/** @param retryAfterSeconds - an integer of at least 1 */
export const rateLimited = (retryAfterSeconds: number) =>
  new ServiceError('rate_limited', 'Too many requests with this API key.', { retryAfterSeconds });

export const readOnlyKey = () => new ServiceError('read_only_key', 'This API key is read-only.');
export const partnerNotAllowed = (allowed: string) =>
  new ServiceError('partner_not_allowed', `This API key is limited to partner ${allowed}.`);

export const invalidFeedFile = (text: string) => new ServiceError('invalid_feed_file', text);
export const notCsv = () => invalidFeedFile('Only CSV uploads are supported at this time.');

export const feedNotFound = (id: string) => new ServiceError('feed_not_found', `Feed ${id} not found.`);
export const rawFileMissing = (feedId: string, cause: unknown) =>
  new ServiceError('raw_file_missing', `The raw file of feed ${feedId} is missing from object storage.`, {
    cause,
  });
export const jobNotFound = (id: string) => new ServiceError('job_not_found', `Job ${id} not found`, { id });
export const jobToRunNotFound = () => new ServiceError('job_to_run_not_found', 'Job not found');
export const notAValidationJob = () =>
  new ServiceError('not_a_validation_job', 'Only validation jobs can be run');
export const notAJobToCancel = () =>
  new ServiceError('not_a_validation_job', 'Only validation jobs can be cancelled');
export const jobWithoutRun = (id: string) => new ServiceError('no_run', `Job ${id} has no run to cancel.`);
export const jobWithoutFinishedRun = (id: string) =>
  new ServiceError('no_finished_run', `Job ${id} has no finished run.`);
export const rawFileUnusable = (why: string, cause: unknown) =>
  new ServiceError('raw_file_unusable', why, { cause });
export const jobAlreadyRunning = (id: string) =>
  new ServiceError('job_already_running', `Job ${id} is already running.`);

export const jobAlreadyWaiting = (id: string) =>
  new ServiceError('job_already_waiting', `Job ${id} is already waiting to run.`);

export const idempotentRequestInProgress = () =>
  new ServiceError(
    'idempotent_request_in_progress',
    'A request with this Idempotency-Key is still in progress.',
  );
export const idempotencyKeyUsed = () =>
  new ServiceError('idempotency_key_used', 'Idempotency-Key was already used with a different request.');

export const invalidSortBy = (allowed: readonly string[]) =>
  new ServiceError('invalid_query', `Invalid sort_by value. Allowed values: ${allowed.join(', ')}.`);
export const invalidOrder = (allowed: readonly string[]) =>
  new ServiceError('invalid_query', `Invalid order value. Allowed values: ${allowed.join(', ')}.`);
export const cursorNeedsProductIdSort = () =>
  new ServiceError('invalid_query', 'Cursor pagination is currently supported only with sort_by=product_id.');
export const invalidCursor = () => new ServiceError('invalid_query', 'Invalid cursor value.');
export const productNotFound = (id: string) =>
  new ServiceError('product_not_found', `Product ${id} not found.`);

export const orderWithoutItems = () =>
  new ServiceError('invalid_order', 'Order must contain at least one item.');
export const mixedCurrencies = () =>
  new ServiceError('invalid_order', 'Order items must share one currency.');
export const orderedProductNotFound = (id: string) =>
  new ServiceError('ordered_product_not_found', `Product not found: ${id}`);
export const productNotAvailable = (id: string) =>
  new ServiceError('product_not_available', `Product is not available: ${id}`);
export const orderNotFound = (id: string) => new ServiceError('order_not_found', `Order not found: ${id}`);

/** A dependency is down, a limit is reached, or the process shuts down: the caller should retry later. */
export const unavailable = (cause: unknown) =>
  new ServiceError('unavailable', 'Service temporarily unavailable', { cause });
