import { settingGroups } from '../../src/base/setting-groups';
import { concurrentUploadsDefault } from '../../src/config';
import { concurrentForms, smallUploadBytes } from '../../src/intake/feeds/upload-form';
import { wrongKeyLimits } from '../../src/http/keys/wrong-keys';
import { queuedRunAttempts } from '../../src/runs/queue/run-target.repository';
import { bytes, code, count, duration, page, table } from './markdown';
import { jsonBodyBytes, jsonDepth } from '../../src/http/body/json-body';
import { multipartOverheadBytes, formParts } from '../../src/http/body/multipart';
import document from '../../generated/openapi.json';
import { fetchesPerPartner } from '../../src/intake/sources/claims.repository';
import { fetchLimits } from '../../src/intake/sources/fetch-source';
import { openUrlLimits } from '../../src/intake/sources/open-url';
import { sourcesMax } from '../../src/intake/sources/sources.repository';
import { concurrentFetches } from '../../src/intake/sources/worker';
import { formatsMax } from '../../src/catalog/formats/formats.repository';
import { headerRowBytes } from '../../src/feed-format/read/header-names';
import { recordBytes } from '../../src/feed-format/columns';
import { issuesKept } from '../../src/feed-format/rows/row-issues';
import { half } from '../../src/base/concurrency/concurrency-limit';
import {
  concurrentDownloadsMax,
  transferRules,
  waitingTransfersMax,
} from '../../src/base/concurrency/transfer-limit';
import { concurrentRunsOfPartnerMax, waitingRuns } from '../../src/runs/execution/worker';
import { concurrentRejectsMax } from '../../src/runs/execution/rejects';
import { databaseAcquireMilliseconds, idleConnectionMilliseconds } from '../../src/base/db/database';
import { pageBytesMax } from '../../src/base/db/page';
import { poolLimits } from '../../src/base/db/dialect';
import { databaseTimeouts } from '../../src/base/db/transaction';
import { idempotencyMilliseconds } from '../../src/http/idempotency/idempotency.repository';
import {
  concurrentDeliveries,
  concurrentSlowDeliveries,
  slowDeliveryMilliseconds,
} from '../../src/webhooks/delivery-slots';
import { deliveriesPerEndpoint, webhookAgeMilliseconds } from '../../src/webhooks/deliveries.repository';
import { namedWebhooksMax } from '../../src/webhooks/named-endpoints.repository';
import { replayMillisecondsMax } from '../../src/webhooks/partner-webhooks.handlers';
import { pingLimits } from '../../src/webhooks/ping';
import { webhookLimits } from '../../src/webhooks/send';
import { previousSecretHours } from '../../src/webhooks/webhook-secrets';
import { webhookRetries } from '../../src/webhooks/deliver';
import { webhookDeadMilliseconds } from '../../src/webhooks/endpoints.repository';
import { jobWaitLimits } from '../../src/runs/jobs/job-changes';
import { s3Limits } from '../../src/base/storage/s3-store';
import {
  headerBytes,
  headersMax,
  requestHeadersMilliseconds,
  responseIdleMillisecondsMax,
  keepAliveMilliseconds,
} from '../../src/http/server';
import { requestIdleMilliseconds } from '../../src/http/body/slow-client';
import { bytesPerSecondMin } from '../../src/base/concurrency/stall-detector';

const { Capacity: capacity, Database: database, 'Network and shutdown': network } = settingGroups;

const { put: replaceFormat } = document.paths['/partners/{partner_name}/formats/{format_name}'];
const formatBytes = replaceFormat.requestBody['x-max-bytes'];

const { put: replaceSource } = document.paths['/partners/{partner_name}/sources/{source_name}'];
const sourceBytes = replaceSource.requestBody['x-max-bytes'];

const { put: replaceWebhook } = document.paths['/partners/{partner_name}/webhooks/{webhook_name}'];
const webhookBytes = replaceWebhook.requestBody['x-max-bytes'];

const { post: pauseWebhook } = document.paths['/partners/{partner_name}/webhooks/{webhook_name}/pause'];
const pauseSecondsMax = pauseWebhook.parameters.find(({ name }) => name === 'seconds')!.schema!.maximum;

const uploads = concurrentUploadsDefault;

type Row = [what: string, value: string, beyond: string, reason: string];

/** The default of a setting, with its name. */
const setting = (name: string, value: string) => `${value}: ${code(name)}`;

const leastWithin = (milliseconds: number) =>
  `${bytes((bytesPerSecondMin * milliseconds) / 1000)} within ${duration(milliseconds)}`;

const groups: Record<string, Row[]> = {
  'Requests and responses': [
    [
      'Uploaded file',
      setting('MAX_UPLOAD_BYTES', bytes(capacity.MAX_UPLOAD_BYTES.default)),
      '413 before the rest is read',
      'Disk space and the duration of a run.',
    ],
    [
      'Form without its file; parts; one field',
      `${bytes(multipartOverheadBytes)}; ${formParts}; ${bytes(document.components.schemas.SentDefinition.maxLength)}`,
      '413; 400; 422',
      'A form of this service has at most eight parts.',
    ],
    [
      'JSON body; its depth',
      `${bytes(jsonBodyBytes)}; ${jsonDepth}`,
      '413; 422',
      'The largest order needs a tenth of it. Deep values exhaust the stack.',
    ],
    [
      'Items of a page, as JSON',
      bytes(pageBytesMax),
      'The page ends, with a `next_cursor`',
      'A hundred of the largest items are up to 50 MB, which keep a process busy for seconds. One item can be larger, and one of a history has values before and after.',
    ],
    [
      'Definition of a format; formats of a partner',
      `${bytes(formatBytes)}; ${formatsMax}`,
      '413; 409',
      'Each feed keeps its definition. A partner has a few kinds of files.',
    ],
    [
      'Definition of a source; sources of a partner',
      `${bytes(sourceBytes)}; ${sourcesMax}`,
      '413; 409',
      'As for formats.',
    ],
    [
      'Fetches in progress, per process and per partner; their duration; wait for a response; redirects',
      `${concurrentFetches}, ${fetchesPerPartner}; ${duration(fetchLimits.attemptMilliseconds)}; ${duration(openUrlLimits.idleMilliseconds)}; ${openUrlLimits.redirectsMax}`,
      'The fetch waits; it fails',
      'A partner, or a slow server, leaves slots to others.',
    ],
    [
      'Request target and headers; number of headers',
      `${bytes(headerBytes)}; ${headersMax}`,
      '431',
      'Memory per connection.',
    ],
    [
      'Time until the headers are complete',
      duration(requestHeadersMilliseconds),
      '408',
      'A slow client occupies a connection.',
    ],
    [
      'Throughput of a request body, at least',
      leastWithin(requestIdleMilliseconds),
      '408',
      'A slow upload occupies a slot. Pauses of the service do not count.',
    ],
    [
      'Progress of a response, at least',
      `some bytes within ${duration(responseIdleMillisecondsMax)}`,
      'The connection is closed',
      'A client that does not read occupies a file and a slot.',
    ],
    [
      'Idle connection',
      duration(keepAliveMilliseconds),
      'The connection is closed',
      'Clients and load balancers close idle connections earlier.',
    ],
    [
      'Client connections',
      setting('MAX_CONNECTIONS', count(capacity.MAX_CONNECTIONS.default)),
      'The connection is closed at once',
      'File descriptors and memory.',
    ],
    [
      'Requests of one API key',
      `${capacity.RATE_LIMIT_REQUESTS.unset}: ${code('RATE_LIMIT_REQUESTS')}`,
      '429 before the body is read',
      'Only the operator knows how many are fair.',
    ],
    [
      'Wrong API keys of one address (IPv6: /64), per process',
      `${wrongKeyLimits.undelayedMax} within ${duration(wrongKeyLimits.countMilliseconds)}`,
      `401 after ${duration(wrongKeyLimits.delayMilliseconds)}, for ${wrongKeyLimits.delayedMax} requests at a time`,
      'Guesses take time. Behind a proxy all clients have its address: valid keys are never delayed.',
    ],
  ],
  Feeds: [
    [
      'Header row; one record',
      `${bytes(headerRowBytes)}; ${bytes(recordBytes)}`,
      '400; the row is skipped',
      'Both are held in memory.',
    ],
    [
      'Row issues kept per run',
      count(issuesKept),
      'Counts per code stay exact',
      'The table grows with the number of errors.',
    ],
    [
      'Attempts of a queued run whose process dies',
      String(queuedRunAttempts),
      'The job fails',
      'A run that ends its process each time must not block the queue.',
    ],
  ],
  'Work in progress': [
    [
      'Uploads and inspections; with S3',
      `${uploads.dataDir}; ${uploads.s3}: ${code('MAX_CONCURRENT_UPLOADS')}`,
      'They wait before their file is read',
      'Memory: 1 MB each. With S3, a large one has 18 MB, for parts of 5 MiB, another one 4 MB.',
    ],
    [
      'Of these, large files: above this size, or of unknown size',
      `half; ${bytes(smallUploadBytes)}`,
      'They wait',
      'A small file must not wait for hours of large ones.',
    ],
    [
      'Downloads of raw files and products',
      String(concurrentDownloadsMax),
      'They wait',
      'Each occupies a file or a connection to S3.',
    ],
    [
      'Runs and plans; waiting',
      `${setting('MAX_CONCURRENT_RUNS', String(capacity.MAX_CONCURRENT_RUNS.default))}; ${waitingRuns}`,
      'They wait; 503',
      'They share one core.',
    ],
    [
      'Of these, runs of one partner',
      String(concurrentRunsOfPartnerMax),
      'They wait',
      'Feeds of one partner must not delay feeds of others.',
    ],
    [
      'Downloads of rejects',
      String(concurrentRejectsMax),
      'They wait',
      'Each parses its file again, on the thread of the runs.',
    ],
    [
      'Transfers of each kind that wait; their wait',
      `${waitingTransfersMax}; ${duration(transferRules.waitMilliseconds)}`,
      '503',
      'Each has up to 200 kB of received bytes in its buffers; clients time out.',
    ],
    [
      'Requests that wait for a job to change; their time',
      `${count(jobWaitLimits.waitersMax)}; ${jobWaitLimits.secondsMax} s`,
      '`Prefer: wait` is ignored, an event stream is 503',
      'Memory.',
    ],
    [
      'Response to a request with an `Idempotency-Key`',
      `kept for ${duration(idempotencyMilliseconds)}`,
      'The key is new again',
      'The table grows with the number of requests.',
    ],
    [
      'Requests in progress at a stop',
      setting('SHUTDOWN_SECONDS', `${network.SHUTDOWN_SECONDS.default} s`),
      'The connection is closed',
      'Orchestrators kill after 30 s.',
    ],
  ],
  Database: [
    [
      'Requests that wait for a connection; their time',
      `${poolLimits.waitersMax}; ${duration(databaseAcquireMilliseconds)}. Connections: ${database.DATABASE_CONNECTIONS.default}, \`DATABASE_CONNECTIONS\``,
      'They wait; 503',
      'Clients that wait longer have disconnected.',
    ],
    [
      'Idle connection of requests; of others',
      `${duration(idleConnectionMilliseconds.ofRequests)}; ${duration(idleConnectionMilliseconds.ofOthers)}`,
      'It is closed',
      'A new connection is slow at first: PostgreSQL plans its statements again.',
    ],
    [
      'Statement of a request; its wait for a lock',
      `${duration(databaseTimeouts.queryMilliseconds)}; ${duration(databaseTimeouts.lockMilliseconds)}`,
      '503; the statement is cancelled',
      'Ten times the slowest that was measured.',
    ],
    [
      'Statement of a run, a plan or rejects',
      duration(databaseTimeouts.bulkMilliseconds),
      'The run fails',
      '5 GiB beside three other runs.',
    ],
    [
      'Idle transaction of a request; of a run',
      `${duration(databaseTimeouts.idleMilliseconds)}; ${duration(databaseTimeouts.bulkIdleMilliseconds)}`,
      'It is rolled back',
      'A frozen process keeps its locks. Uploads with an `Idempotency-Key` have no limit.',
    ],
  ],
  'Object store': [
    [
      'Connect; idle connection; response; attempts',
      `${duration(s3Limits.connectMilliseconds)}; ${duration(s3Limits.idleMilliseconds)}; ${duration(s3Limits.responseMilliseconds)}; ${s3Limits.attempts}`,
      '503',
      'A frozen store must occupy neither a request nor a slot. A stalled connection is not retried.',
    ],
    [
      'Throughput of an object that is read, at least',
      leastWithin(s3Limits.idleMilliseconds),
      'The run fails, a download is cut',
      'Its reader occupies a transaction or a slot.',
    ],
  ],
  Webhooks: [
    [
      'Deliveries in one process; to one endpoint in all',
      `${concurrentDeliveries}; ${deliveriesPerEndpoint}`,
      'They wait',
      'Slow receivers must leave room for others.',
    ],
    [
      `Deliveries in one process that take longer than ${duration(slowDeliveryMilliseconds)}`,
      `${concurrentSlowDeliveries}`,
      'Deliveries to slow receivers wait',
      'They are not counted among the 12: they only wait.',
    ],
    [
      'Response of a receiver',
      duration(webhookLimits.requestMilliseconds),
      'Retry with backoff',
      'Standard Webhooks recommends 15 to 30 s.',
    ],
    [
      'Named webhooks of a partner; definition of one',
      `${namedWebhooksMax}; ${bytes(webhookBytes)}`,
      '409; 413',
      'Each event is sent to each of them.',
    ],
    [
      'Response to a ping; pings in one process; of one partner',
      `${duration(webhookLimits.pingMilliseconds)}; ${pingLimits.concurrentPings}; ${pingLimits.concurrentPingsOfPartner}`,
      'null; 503',
      'The caller waits, and occupies a connection to the service.',
    ],
    [
      'Pause of a webhook by its partner; period of a replay',
      `${duration(pauseSecondsMax * 1000)}; ${duration(replayMillisecondsMax)}`,
      '422',
      'A pause must end before its events are too old. A replay of a longer period would take too long for a request.',
    ],
    [
      'Validity of a secret after its rotation',
      duration(previousSecretHours * 3_600_000),
      'Only the new secret signs',
      'Receivers need time to take the new one.',
    ],
    [
      'Retries',
      `${webhookRetries.backoffSeconds.map((seconds) => duration(seconds * 1000)).join(', ')} after the attempt before`,
      'The event is discarded',
      'Nine attempts within 28 to 33 h.',
    ],
    [
      'Time for which an event is due while its endpoint is paused',
      duration(webhookAgeMilliseconds),
      'The event is discarded',
      'Attempts are not counted while an endpoint is paused.',
    ],
    [
      'Time without any accepted event',
      `${webhookDeadMilliseconds / 86_400_000} days`,
      'The endpoint is disabled',
      'A weekend and a holiday are no reason.',
    ],
  ],
};

const shareOf = (slots: number) => String(half(slots));
const downloads = concurrentDownloadsMax;

/** The limits of shared slots: transfers, slots, slots per caller, and the response to an evicted transfer. */
const shares: string[][] = [
  ...(['dataDir', 's3'] as const).flatMap((store) => {
    const where = store === 's3' ? ', with S3' : '';
    const large = half(uploads[store]);
    return [
      [
        `Uploads and inspections${where}, from their file on`,
        String(uploads[store]),
        shareOf(uploads[store]),
        '408',
      ],
      [`Of these, large files${where}`, String(large), shareOf(large), '408'],
    ];
  }),
  [
    'Uploads and inspections, before their file',
    String(concurrentForms),
    `${shareOf(concurrentForms)} per API key`,
    '408',
  ],
  [
    'Uploads and inspections that the fields before their file refuse',
    String(concurrentForms),
    `${shareOf(concurrentForms)} per API key`,
    '408',
  ],
  [
    'Downloads of raw files and products',
    String(downloads),
    shareOf(downloads),
    'The connection is closed; resume a raw file with `Range`',
  ],
  [
    'Downloads of rejects',
    String(concurrentRejectsMax),
    shareOf(concurrentRejectsMax),
    'The connection is closed; request it again',
  ],
  [
    'Transfers of each kind that wait',
    String(waitingTransfersMax),
    shareOf(waitingTransfersMax),
    '503 for the newest of the caller with most',
  ],
];

const { patienceMilliseconds, slowBytesPerSecond } = transferRules;

const sharesText = [
  'A caller has at most half of the slots of each kind of transfer in a process, at least one. The caller is the partner' +
    ' that the API key is limited to, or else the key together with the partner that the request names or concerns. An' +
    ' upload whose `partner_name` comes after its file counts for its key alone.',
  'Without a free slot, a transfer waits. Slots go round-robin to the keys that wait, and for each key to its callers. While there' +
    ' are waiters:',
  [
    `- If all transfers of a key together are below ${bytes(slowBytesPerSecond)} per second, the slowest of them is evicted for another` +
      ' caller. Only time in which the service waits for the client counts: the last ten seconds, at least five.',
    `- After ${duration(patienceMilliseconds)}, a waiter whose caller or key has no slot takes one from the caller or key with most slots, if` +
      ' there are at least two. If the key of the waiter has no slot, it takes from any key, else from its own key and keys with' +
      ' more slots. The slowest of these transfers is evicted.',
  ].join('\n'),
];

export function limitsPage(): string {
  return page(
    'Limits',
    'scripts/reference/limits.ts and src/base/setting-groups.ts',
    'A name of a [setting](settings.md) means that the operator can change the limit; the value is its default. All others' +
      ' are fixed. 429 and 503 have a `Retry-After` header. A request as a whole has no time limit: a run takes as long as' +
      ' it takes.',
    ...Object.entries(groups).flatMap(([title, rows]) => [
      `## ${title}`,
      table(['Limit', 'Value', 'Beyond it', 'Reason'], rows),
    ]),
    '## Shares of one caller',
    ...sharesText,
    table(['Transfers', 'Slots by default', 'Of one caller', 'When evicted'], shares),
  );
}
