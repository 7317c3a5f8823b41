/** Expected failures of the domain. Only `http/reply/error-response.ts` maps a code to a status and a body. */
export type ErrorCode =
  | 'route_not_found'
  | 'method_not_allowed'
  | 'not_acceptable'
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
  | 'raw_file_removed'
  | 'job_not_found'
  | 'job_to_run_not_found'
  | 'run_not_found'
  | 'product_not_found'
  | 'order_not_found'
  | 'order_item_not_found'
  | 'partner_not_found'
  | 'format_not_found'
  | 'webhook_not_found'
  | 'too_many_formats'
  | 'format_in_use'
  | 'source_not_found'
  | 'too_many_sources'
  | 'ordered_product_not_found'
  | 'product_not_available'
  | 'history_not_kept'
  | 'job_already_running'
  | 'job_already_waiting'
  | 'run_cancelled'
  | 'no_finished_run'
  | 'run_not_completed'
  | 'run_already_reverted'
  | 'run_not_kept'
  | 'revert_conflicts'
  | 'raw_file_unusable'
  | 'idempotent_request_in_progress'
  | 'idempotency_key_used'
  | 'unavailable';

/** One violation of the schema of a request; `input` is the value as sent. */
export interface ShapeError {
  type: string;
  loc: (string | number)[];
  /** The position in the JSON body (RFC 6901), if errors of the operation have one. */
  pointer?: string;
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
      conflicts?: unknown[];
      allowedMethods?: string[];
      cause?: unknown;
    } = {},
  ) {
    super(publicText, { cause: data.cause });
  }
}

export const routeNotFound = () => new ServiceError('route_not_found', 'Not Found');
/** @param allowedMethods - of the path */
export const methodNotAllowed = (allowedMethods: string[]) =>
  new ServiceError('method_not_allowed', 'Method Not Allowed', { allowedMethods });
export const notAcceptable = () => new ServiceError('not_acceptable', 'Not Acceptable');
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
export const rawFileRemoved = (feedId: string, removedAt: Date) =>
  new ServiceError(
    'raw_file_removed',
    `The raw file of feed ${feedId} was removed on ${removedAt.toISOString()}. Upload it again to run it.`,
  );
export const runNotFound = (jobId: string, run: number) =>
  new ServiceError('run_not_found', `Job ${jobId} has no run ${run}.`);
export const runHistoryNotKept = (jobId: string, run: number) =>
  new ServiceError('history_not_kept', `The history of run ${run} of job ${jobId} is not kept.`);
export const runNotKept = (jobId: string, run: number) =>
  new ServiceError(
    'run_not_kept',
    `The history of run ${run} of job ${jobId} is not kept: the run cannot be reverted.`,
  );
/** @param why - contains the number of the run and the remedy */
export const runNotCompleted = (why: string) => new ServiceError('run_not_completed', why);
export const runAlreadyReverted = (jobId: string, run: number, by: number) =>
  new ServiceError(
    'run_already_reverted',
    `Run ${run} of job ${jobId} was already reverted by run ${by}. Revert run ${by} to undo that.`,
  );
/** @param conflicts - in the form of the response */
export const revertConflicts = (why: string, conflicts: unknown[]) =>
  new ServiceError('revert_conflicts', why, { conflicts });
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

export const runCancelled = (id: string) =>
  new ServiceError('run_cancelled', `The run of job ${id} was cancelled before it started.`);

export const jobAlreadyWaiting = (id: string) =>
  new ServiceError('job_already_waiting', `A run of job ${id} is already queued.`);

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
/** @param of - a product id or the name of a partner */
export const historyNotKept = (of: string, begins: string) =>
  new ServiceError('history_not_kept', `The history of ${of} begins at ${begins}.`);

export const orderWithoutItems = () =>
  new ServiceError('invalid_order', 'Order must contain at least one item.');
export const mixedCurrencies = () =>
  new ServiceError('invalid_order', 'Order items must share one currency.');
export const orderedProductNotFound = (id: string) =>
  new ServiceError('ordered_product_not_found', `Product not found: ${id}`);
export const productNotAvailable = (id: string) =>
  new ServiceError('product_not_available', `Product is not available: ${id}`);
export const orderNotFound = (id: string) => new ServiceError('order_not_found', `Order not found: ${id}`);
export const orderItemNotFound = (id: string) =>
  new ServiceError('order_item_not_found', `Order item not found: ${id}`);

/** Omits the name, which can be another partner's. */
export const partnerNotFound = () => new ServiceError('partner_not_found', 'Partner not found.');

export const formatNotFound = () => new ServiceError('format_not_found', 'Format not found.');
export const webhookNotFound = () => new ServiceError('webhook_not_found', 'Webhook not found.');
export const tooManyFormats = (partnerName: string, most: number) =>
  new ServiceError(
    'too_many_formats',
    `Partner ${partnerName} has ${most} formats already. Delete one first.`,
  );

/** @param sourceName - a source of the partner that names the format */
export const formatInUse = (sourceName: string) =>
  new ServiceError(
    'format_in_use',
    `Source ${sourceName} uses this format. Change or delete the source first.`,
  );

export const sourceNotFound = () => new ServiceError('source_not_found', 'Source not found.');
export const tooManySources = (partnerName: string, most: number) =>
  new ServiceError(
    'too_many_sources',
    `Partner ${partnerName} has ${most} sources already. Delete one first.`,
  );

/** A dependency is down, a limit is reached, or the process shuts down: the caller should retry later. */
export const unavailable = (cause: unknown) =>
  new ServiceError('unavailable', 'Service temporarily unavailable', { cause });

export const cancelledReason = 'The run was cancelled.';
/** Failure reason of an attempt that was repeated; a trigger of the schema writes it. */
export const repeatedReason = 'The run was interrupted.';
