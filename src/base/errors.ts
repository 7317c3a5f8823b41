import type { components, operations } from '../../generated/openapi';

/** A code of the document: `x-error-code` of the response. */
export type ErrorCode = components['schemas']['KnownErrorCode'];

type OperationId = keyof operations;
type CodeOf<Response> = Response extends { headers: { 'x-error-code': infer Code } } ? Code : never;
/** The codes that the document declares for an operation (`x-error-codes`). */
type CodesOf<O extends OperationId> = {
  [S in keyof operations[O]['responses']]: CodeOf<operations[O]['responses'][S]>;
}[keyof operations[O]['responses']];
/** The status of a code; any number for one that no operation declares. */
export type StatusOf<Code extends ErrorCode> =
  Code extends CodesOf<OperationId>
    ? {
        [O in OperationId]: {
          [S in keyof operations[O]['responses']]: Code extends CodeOf<operations[O]['responses'][S]>
            ? S
            : never;
        }[keyof operations[O]['responses']];
      }[OperationId]
    : number;
/** The operations that declare a code. */
type OperationsWith<Code extends ErrorCode> = {
  [O in OperationId]: Code extends CodesOf<O> ? O : never;
}[OperationId];
/** The codes that all of the operations declare. */
type CodesOfEach<O extends OperationId> = {
  [Code in ErrorCode]: [O] extends [OperationsWith<Code>] ? Code : never;
}[ErrorCode];

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

interface ErrorData {
  id?: string;
  shapeErrors?: ShapeError[];
  retryAfterSeconds?: number;
  conflicts?: unknown[];
  allowedMethods?: string[];
  fileBytes?: number;
  cause?: unknown;
}

/** An expected failure: `code` decides the response, `message` is the public text, `cause` is for the log only. */
export class ServiceError extends Error {
  constructor(
    readonly code: ErrorCode,
    publicText: string,
    readonly data: ErrorData = {},
  ) {
    super(publicText, { cause: data.cause });
  }
}

/**
 * Makes an error of the operations named as the type argument: each must declare the code, otherwise it does not compile. Which
 * operations throw it, the type does not know: the check of responses refuses a code that theirs do not declare.
 */
const errorOf = <O extends OperationId>(code: CodesOfEach<O>, publicText: string, data?: ErrorData) =>
  new ServiceError(code, publicText, data);

/** Makes an error of requests that reach no operation. */
const errorOfNone = (code: Exclude<ErrorCode, CodesOf<OperationId>>, publicText: string, data?: ErrorData) =>
  new ServiceError(code, publicText, data);

type WithBody = 'createOrder' | 'replaceFormat' | 'replaceSource' | 'replaceWebhook';
type WithForm = 'uploadFeed' | 'inspectFeed';
type WithKey = Exclude<OperationId, 'getHealth'>;
type Idempotent = 'uploadFeed' | 'createOrder';
type Run = 'runJob' | 'revertRun';
type NamedWebhook = 'getWebhook' | 'deleteWebhook' | 'pingWebhook' | 'pauseWebhook' | 'replayWebhook';

export const routeNotFound = () => errorOfNone('route_not_found', 'Not Found');
/** @param allowedMethods - of the path */
export const methodNotAllowed = (allowedMethods: string[]) =>
  errorOfNone('method_not_allowed', 'Method Not Allowed', { allowedMethods });
export const notAcceptable = () => errorOfNone('not_acceptable', 'Not Acceptable');
export const malformedPath = (cause: unknown) =>
  errorOf<'getFeed' | 'getJob' | 'getProduct' | 'getOrder' | 'getPartner'>(
    'malformed_path',
    'Malformed request path.',
    { cause },
  );
export const malformedJson = (cause: unknown) =>
  errorOf<WithBody>('malformed_json', 'Malformed JSON in request body.', { cause });
export const malformedMultipart = (cause: unknown) =>
  errorOf<WithForm>('malformed_multipart', 'Malformed multipart body.', { cause });
export const unsupportedMediaType = (expected: string) =>
  errorOf<WithBody | WithForm>(
    'unsupported_media_type',
    `Unsupported media type. Send the body as ${expected}.`,
  );
export const requestTimedOut = () =>
  errorOf<WithBody | WithForm>('request_timeout', 'The request took too long to arrive.');
export const bodyTooLarge = (bytesMax: number) =>
  errorOf<WithBody>('body_too_large', `Request body exceeds the limit of ${bytesMax} bytes.`);
export const fileTooLarge = (bytesMax: number) =>
  errorOf<WithForm>('file_too_large', `Uploaded file exceeds the limit of ${bytesMax} bytes.`);
export const invalidShape = (shapeErrors: ShapeError[]) =>
  errorOf<OperationId>('validation_error', 'The request has the wrong shape.', { shapeErrors });
export const unauthorized = () => errorOf<WithKey>('unauthorized', 'Invalid or missing API key');
/** @param retryAfterSeconds - an integer of at least 1 */
export const rateLimited = (retryAfterSeconds: number) =>
  errorOf<WithKey>('rate_limited', 'Too many requests with this API key.', { retryAfterSeconds });

export const readOnlyKey = () =>
  errorOf<
    | Idempotent
    | Run
    | 'cancelJob'
    | 'replaceFormat'
    | 'deleteFormat'
    | 'replaceSource'
    | 'deleteSource'
    | 'fetchSource'
    | 'replaceWebhook'
    | 'deleteWebhook'
    | 'pingWebhook'
    | 'pauseWebhook'
    | 'replayWebhook'
    | 'withdrawProduct'
  >('read_only_key', 'This API key is read-only.');
export const partnerNotAllowed = (allowed: string) =>
  errorOf<WithForm | WithBody | 'getQueue'>(
    'partner_not_allowed',
    `This API key is limited to partner ${allowed}.`,
  );

export const notCsv = () => errorOf<'uploadFeed'>('not_csv', 'Only CSV uploads are supported at this time.');
export const emptyFile = () => errorOf<'uploadFeed'>('empty_file', 'Uploaded file is empty.');
/** @param encoding - its public name */
export const wrongEncoding = (encoding: string) =>
  errorOf<'uploadFeed'>('wrong_encoding', `CSV file must be ${encoding} encoded.`);
export const invalidGzip = (text: string) => errorOf<'uploadFeed'>('invalid_gzip', text);
export const invalidHeader = (
  code: 'missing_columns' | 'duplicate_column' | 'header_too_long',
  text: string,
) => errorOf<'uploadFeed'>(code, text);

export const feedNotFound = (id: string) =>
  errorOf<'getFeed' | 'downloadFeedFile'>('feed_not_found', `Feed ${id} not found.`);
export const rawFileMissing = (feedId: string, cause: unknown) =>
  errorOf<'downloadFeedFile'>(
    'raw_file_missing',
    `The raw file of feed ${feedId} is missing from object storage.`,
    { cause },
  );
export const rawFileRemoved = (feedId: string, removedAt: Date) =>
  errorOf<'downloadFeedFile' | 'runJob' | 'planJob' | 'downloadJobRejects'>(
    'raw_file_removed',
    `The raw file of feed ${feedId} was removed on ${removedAt.toISOString()}. Upload it again to run it.`,
  );
/** @param fileBytes - the size of the file */
export const rangeNotSatisfiable = (fileBytes: number) =>
  errorOf<'downloadFeedFile'>(
    'range_not_satisfiable',
    `The requested range is not within the ${fileBytes} bytes of the file.`,
    { fileBytes },
  );
export const runNotFound = (jobId: string, run: number) =>
  errorOf<'listRunChanges' | 'revertRun'>('run_not_found', `Job ${jobId} has no run ${run}.`);
export const runHistoryNotKept = (jobId: string, run: number) =>
  errorOf<'listRunChanges'>('history_not_kept', `The history of run ${run} of job ${jobId} is not kept.`);
export const runNotKept = (jobId: string, run: number) =>
  errorOf<'revertRun'>(
    'run_not_kept',
    `The history of run ${run} of job ${jobId} is not kept: the run cannot be reverted.`,
  );
/** @param what - how the run has ended */
export const nothingToRevert = (jobId: string, run: number, what: 'failed' | 'was cancelled') =>
  errorOf<'revertRun'>(
    'nothing_to_revert',
    `Run ${run} of job ${jobId} ${what} and changed nothing: there is nothing to revert.`,
  );
export const runNotEnded = (jobId: string, run: number) =>
  errorOf<'revertRun'>('run_not_ended', `Run ${run} of job ${jobId} has not ended: wait for its end.`);
export const runAlreadyReverted = (jobId: string, run: number, by: number) =>
  errorOf<'revertRun'>(
    'run_already_reverted',
    `Run ${run} of job ${jobId} was already reverted by run ${by}. Revert run ${by} to undo that.`,
  );
/** @param conflicts - in the form of the response */
export const revertConflicts = (why: string, conflicts: unknown[]) =>
  errorOf<'revertRun'>('revert_conflicts', why, { conflicts });

/** Its body has the id (specification, section 7). */
export const jobNotFound = (id: string) =>
  errorOf<
    'getJob' | 'cancelJob' | 'downloadJobRejects' | 'listJobIssues' | 'listJobRuns' | 'streamJobEvents'
  >('job_not_found', `Job ${id} not found`, { id });
export const jobToRunNotFound = () =>
  errorOf<Run | 'planJob' | 'listRunChanges'>('job_not_found', 'Job not found');
export const notAValidationJob = () =>
  errorOf<'runJob' | 'planJob'>('not_a_validation_job', 'Only validation jobs can be run');
export const notAJobToCancel = () =>
  errorOf<'cancelJob'>('not_a_validation_job', 'Only validation jobs can be cancelled');
export const jobWithoutRun = (id: string) =>
  errorOf<'cancelJob'>('no_run_to_cancel', `Job ${id} has no run to cancel.`);
export const jobWithoutFinishedRun = (id: string) =>
  errorOf<'downloadJobRejects'>('no_finished_run', `Job ${id} has no finished run.`);
export const rawFileUnusable = (why: string, cause: unknown) =>
  errorOf<'downloadJobRejects'>('raw_file_unusable', why, { cause });
export const jobAlreadyRunning = (id: string) =>
  errorOf<Run>('job_already_running', `Job ${id} is already running.`);
export const runCancelled = (id: string) =>
  errorOf<Run>('run_cancelled', `The run of job ${id} was cancelled before it started.`);
export const jobAlreadyQueued = (id: string) =>
  errorOf<Run>('job_already_queued', `A run of job ${id} is already queued.`);

export const idempotentRequestInProgress = () =>
  errorOf<Idempotent>(
    'idempotent_request_in_progress',
    'A request with this Idempotency-Key is still in progress.',
  );
export const idempotencyKeyUsed = () =>
  errorOf<Idempotent>('idempotency_key_used', 'Idempotency-Key was already used with a different request.');

export const invalidSortBy = (allowed: readonly string[]) =>
  errorOf<'listProducts'>('invalid_sort_by', `Invalid sort_by value. Allowed values: ${allowed.join(', ')}.`);
export const invalidSortOrder = (allowed: readonly string[]) =>
  errorOf<'listProducts'>(
    'invalid_sort_order',
    `Invalid order value. Allowed values: ${allowed.join(', ')}.`,
  );
export const cursorNeedsProductIdSort = () =>
  errorOf<'listProducts'>(
    'cursor_needs_product_id_sort',
    'Cursor pagination is currently supported only with sort_by=product_id.',
  );
export const invalidCursor = () =>
  errorOf<
    | 'getQueue'
    | 'listFeeds'
    | 'listFormats'
    | 'listJobIssues'
    | 'listJobRuns'
    | 'listOrders'
    | 'listPartners'
    | 'listProductHistory'
    | 'listProducts'
    | 'listProductsByFeed'
    | 'listRunChanges'
    | 'listSourceFetches'
    | 'listSources'
    | 'listWebhookDeliveries'
    | 'listWebhooks'
    | 'planJob'
    | 'revertRun'
  >('invalid_cursor', 'Invalid cursor value.');
export const productNotFound = (id: string) =>
  errorOf<'getProduct' | 'getProductPrices' | 'getProductSource' | 'listProductHistory' | 'withdrawProduct'>(
    'product_not_found',
    `Product ${id} not found.`,
  );
/** @param of - a product id or the name of a partner */
export const historyNotKept = (of: string, begins: string) =>
  errorOf<'getProduct' | 'listProducts'>('history_not_kept', `The history of ${of} begins at ${begins}.`);

export const orderWithoutItems = () =>
  errorOf<'createOrder'>('order_without_items', 'Order must contain at least one item.');
export const mixedCurrencies = () =>
  errorOf<'createOrder'>('mixed_currencies', 'Order items must share one currency.');
export const orderedProductNotFound = (id: string) =>
  errorOf<'createOrder'>('product_not_found', `Product not found: ${id}`);
export const productNotAvailable = (id: string) =>
  errorOf<'createOrder'>('product_not_available', `Product is not available: ${id}`);
export const orderNotFound = (id: string) =>
  errorOf<'getOrder' | 'getOrderItemSource'>('order_not_found', `Order not found: ${id}`);
export const orderItemNotFound = (id: string) =>
  errorOf<'getOrderItemSource'>('order_item_not_found', `Order item not found: ${id}`);

/** Omits the name, which can be another partner's. */
export const partnerNotFound = () =>
  errorOf<
    | 'uploadFeed'
    | 'getPartner'
    | 'downloadPartnerProducts'
    | 'getFormat'
    | 'deleteFormat'
    | 'getSource'
    | 'deleteSource'
    | 'fetchSource'
    | 'listSourceFetches'
    | NamedWebhook
  >('partner_not_found', 'Partner not found.');

export const formatNotFound = () =>
  errorOf<'getFormat' | 'deleteFormat'>('format_not_found', 'Format not found.');
export const tooManyFormats = (partnerName: string, most: number) =>
  errorOf<'replaceFormat' | 'uploadFeed'>(
    'too_many_formats',
    `Partner ${partnerName} has ${most} formats already. Delete one first.`,
  );
/** @param sourceName - a source of the partner that names the format */
export const formatInUse = (sourceName: string) =>
  errorOf<'deleteFormat'>(
    'format_in_use',
    `Source ${sourceName} uses this format. Change or delete the source first.`,
  );

export const sourceNotFound = () =>
  errorOf<'getSource' | 'deleteSource' | 'fetchSource' | 'listSourceFetches'>(
    'source_not_found',
    'Source not found.',
  );
export const tooManySources = (partnerName: string, most: number) =>
  errorOf<'replaceSource'>(
    'too_many_sources',
    `Partner ${partnerName} has ${most} sources already. Delete one first.`,
  );
export const webhookNotFound = () =>
  errorOf<'listWebhookDeliveries' | NamedWebhook>('webhook_not_found', 'Webhook not found.');
export const tooManyWebhooks = (partnerName: string, most: number) =>
  errorOf<'replaceWebhook'>(
    'too_many_webhooks',
    `Partner ${partnerName} has ${most} webhooks already. Delete one first.`,
  );
export const webhookDisabled = (webhookName: string) =>
  errorOf<'replayWebhook'>('webhook_disabled', `Webhook ${webhookName} is disabled. Enable it first.`);

/** A dependency is down, a limit is reached, or the process shuts down: the caller should retry later. */
export const unavailable = (cause: unknown) =>
  errorOf<WithKey>('unavailable', 'Service temporarily unavailable', { cause });

export const cancelledReason = 'The run was cancelled.';
/** Failure reason of an attempt that was repeated; a trigger of the schema writes it. */
export const repeatedReason = 'The run was interrupted.';
