/** Fixed limits of the service. Each is a promise of the document or protects memory; the reason stands beside it. */
export const limits = {
  /** A JSON body beyond this is 413: the largest order allowed (1,000 items) needs a tenth of it. */
  jsonBodyBytes: 1024 * 1024,
  /** A JSON value nested deeper than this is not an order, and could exhaust the stack of whoever walks it. */
  jsonDepth: 32,
  /** What a multipart body may hold besides the file: headers, the name and ignored parts. */
  multipartOverheadBytes: 1024 * 1024,
  /** A form field is cut here; a partner name needs at most 255 characters of 4 bytes. */
  formFieldBytes: 64 * 1024,
  /** More parts than this are not a form of ours. */
  formParts: 100,
  /** How far back the headers of a multipart part can lie when it begins: they have at most 16 KiB, chunks come in 64. */
  partHeaderWindowBytes: 192 * 1024,
  /** The header row must end within this; it is held in memory while the upload is inspected. */
  headerRowBytes: 256 * 1024,
  /**
   * How much of a file an inspection looks at: whether a header row of the largest size ends is seen in the byte after it,
   * also when up to three bytes of a character that is cut are left out.
   */
  inspectBytes: 256 * 1024 + 4,
  /** An inspection reads this much at once, and then lets others have a turn: all of it takes up to a second. */
  inspectPieceBytes: 16 * 1024,
  /** How many of the first headers an inspection shows: a header row of commas alone would make an answer of 17 MB. */
  inspectHeaders: 1_000,
  /** How many of the first cleaned rows, and of the issues, an inspection shows. */
  inspectRows: 10,
  inspectIssues: 100,
  /**
   * A record beyond this is skipped: it is held in memory, and is most likely a quote left open. The largest that can be
   * loaded, each value of its longest and every character a doubled quote or one of four bytes, has a good half of it.
   */
  recordBytes: 512 * 1024,
  /**
   * A file of this size or more is copied straight into the products of a partner who has none. Of a smaller one it saves
   * less than a second, and a feed that turns out to be broken would leave rows to be cleaned up.
   */
  firstLoadBytes: 16 * 1024 * 1024,
  /**
   * How many blocks of 8,192 record digests the ETL thread keeps in memory, of all runs at work: enough for a partner of
   * 1.6 million products, in 80 MB. The records of further products travel to the database whenever they come.
   */
  digestBlocks: 200,
  /** Row issues kept in full per run, errors before warnings; counts are exact beyond it. */
  issuesKept: 10_000,
  /** How many of the first rows with a code a job shows. */
  issueFirstRows: 3,
  /** A stored offending value is shortened to this many characters. */
  issueValueCharacters: 200,
  /** Staged rows are handed to PostgreSQL in texts of about this length: few writes, little memory. */
  copyBatchCharacters: 64 * 1024,
  /**
   * Runs and plans that wait while as many as `MAX_CONCURRENT_RUNS` are at work, which share one worker thread. Behind
   * twenty runs of a million rows, one waits for minutes: whoever comes then had better come again.
   */
  waitingRuns: 20,
  /** Downloads of rejects at a time, on the same thread; most of their time goes into waiting for the client. */
  concurrentRejects: 8,
  /**
   * Memory that PostgreSQL may take per sort or hash of a run: the sort keys of a million products fit. With its default
   * of 4 MB, a first load of a million rows took 27 s instead of 20.
   */
  etlWorkMemMegabytes: 64,
  /** At shutdown, how long a request that was cut has to remove what it has stored. */
  cutRequestMilliseconds: 1_000,
  /** How often the ETL thread notes how much of its pool is in use; metrics are asked for every few seconds at most. */
  poolUseMilliseconds: 1_000,
  /** How long a request waits for a connection from the pool before it is 503. */
  databaseAcquireMilliseconds: 5_000,
  /** How many wait for one; it serves as many in a second, unless the database is in trouble. More are 503 at once. */
  databaseWaiting: 500,
  /** How long opening a connection may take. */
  databaseConnectMilliseconds: 5_000,
  /**
   * How long a request waits for one statement before it is 503: ten times the slowest that was measured (a million
   * products sorted without an index). Without it, a frozen server keeps whoever has a connection to it for ever. The
   * server is asked to give the statement up then; in a transaction, it does so by itself after the same time.
   */
  databaseQueryMilliseconds: 10_000,
  /** How long a statement of a request's transaction waits for a lock: less, so that it is known what it waited for. */
  databaseLockMilliseconds: 8_000,
  /** How long a request's transaction may stand still between two statements: its client has died, or is frozen. */
  databaseIdleMilliseconds: 10_000,
  /** How long a statement over all rows of a feed may take: 5 GiB, with three other runs beside it, need most of it. */
  databaseBulkMilliseconds: 2 * 3600 * 1000,
  /** How long the transaction of a run may stand still: all attempts to open the raw file fit into it. */
  databaseBulkIdleMilliseconds: 20 * 60 * 1000,
  /** A machine that has vanished amid a transaction is noticed within a minute, instead of PostgreSQL's two hours. */
  databaseKeepAlive: { idleSeconds: 30, intervalSeconds: 10, count: 3 },
  /** How long the answer to a request with an `Idempotency-Key` is kept: what the service promises. */
  idempotencyMilliseconds: 24 * 3600 * 1000,
  /** How many answers that are too old one statement removes: it takes some ten milliseconds. */
  expiredAnswersPerDelete: 1_000,
  /** How long the next start waits for a dead owner of the embedded server to be noticed. */
  databaseOwnerWaitMilliseconds: 5_000,
  /** How long it waits for parts of a killed server that are still amid a statement. */
  databaseRestWaitMilliseconds: 60_000,
  /**
   * How long an API process that has died is waited for until another takes its place, when it has died soon after its
   * start: twice as long each time, up to the longest.
   */
  apiProcessRestartMilliseconds: 100,
  apiProcessRestartMillisecondsMax: 30_000,
  /** One that has lived for this long did not die of its start: another takes its place at once. */
  apiProcessSteadyMilliseconds: 60_000,
  /** Connections of the process that starts them, which answers no requests: one for its sweep, and one more. */
  upkeepConnections: 2,
  /** How long an API process may take to tell its metrics; after that, what it told before is shown. */
  processMetricsMilliseconds: 1_000,
  /** How long the process that counts requests for the others may take to do so; then they are 503. */
  rateLimitMilliseconds: 2_000,
  /** From the signal to the end of all processes: what the service promises. */
  stopMilliseconds: 30_000,
  /** How much of that is left for the embedded server to stop when requests in flight have taken all of their time. */
  stopReserveMilliseconds: 5_000,
  /** What is kept of it for a server that does not stop in order: an immediate stop, its death, and the end of ours. */
  databaseForcedStopMilliseconds: 3_000,
  /** How long an immediate stop may take; it only ends processes. */
  databaseImmediateStopSeconds: 1,
  /** A cluster that was being created and has not changed for this long was left by a killed process. */
  abandonedClusterMilliseconds: 10 * 60 * 1000,
  /**
   * Statements that create orders at a time; what comes meanwhile goes with the next one. With 16 clients and two cores,
   * one order by one took twice the time.
   */
  orderStatements: 2,
  /** Orders that one statement creates, and their items: none of them waits much longer than for its own. */
  ordersTogether: 50,
  orderItemsTogether: 1_000,
  /**
   * How often orders are added to the sums of sales. Until then their items are counted when figures are asked for, which
   * takes 5 ms for a thousand orders.
   */
  salesRollupMilliseconds: 2_000,
  /**
   * Events that a process sends at a time: they wait for receivers, in the main thread. Of those, so many to one endpoint,
   * on all processes together: some slow receivers leave places for others.
   */
  concurrentDeliveries: 12,
  deliveriesPerEndpoint: 3,
  /** How long a receiver may take to answer, its name and the connection included: Standard Webhooks wants 15 to 30 s. */
  webhookMilliseconds: 15_000,
  /** Of an answer, nothing is wanted but its status; whoever says more than this is cut off. */
  webhookAnswerBytes: 16 * 1024,
  /**
   * After how many seconds an event is sent again that was not accepted, up to a fifth later: nine times within 28 to 33
   * hours, the first again soon, so that a restart of the receiver goes unnoticed.
   */
  webhookRetrySeconds: [5, 60, 300, 1_800, 7_200, 18_000, 36_000, 36_000],
  /**
   * From so many failures in a row on, nothing is sent to an endpoint for so many seconds, twice as long each time: what
   * waits for a dead receiver would take the places of others.
   */
  webhookPause: { pauseAfterFailures: 3, pauseSeconds: 30, pauseSecondsMax: 600 },
  /** An event for an endpoint that is paused is given up when it is older: nobody counts how often it was not sent. */
  webhookAgeMilliseconds: 36 * 3600 * 1000,
  /**
   * An endpoint that has accepted nothing for so long is disabled when another event is given up: a weekend and a holiday
   * are no reason.
   */
  webhookDeadMilliseconds: 5 * 24 * 3600 * 1000,
  /** At shutdown, how long an event that is being sent may take; then another worker sends it. */
  deliveryStopMilliseconds: 5_000,
  /** How often a process looks whether the jobs have changed for which somebody waits, with one statement for all. */
  jobWatchMilliseconds: 200,
  /** How many may wait for a job to change. */
  jobWatchers: 1_000,
  /** The longest that an answer is held until a run ends, or a job changes. */
  jobWaitSecondsMax: 60,
  /** How often a run tells how far it is, and looks whether it is to stop. */
  progressMilliseconds: 500,
  /** Of so many of these looks its rates are made: five seconds. */
  progressSamples: 11,
  /** How long the answer to a cancellation waits for the run to end. */
  cancelWaitMilliseconds: 10_000,
  /** After how long a stream of a job's changes ends; its client comes again, with a key that is still in use. */
  jobEventsMilliseconds: 60_000,
  /** How often it says something at least: proxies take a minute of silence for the end. */
  jobEventsSilenceMilliseconds: 15_000,
  /** After how long a client of such a stream comes again. */
  jobEventsRetryMilliseconds: 2_000,
  /** A folder with a longer path is too long for the address of a Unix socket (107 bytes with the socket's own name). */
  socketFolderBytes: 85,
  /** How often the server looks, amid a statement, whether the client of a transaction is still there. */
  clientCheckMilliseconds: 1_000,
  /** At shutdown, how long connections may take to be closed. */
  closeMilliseconds: 500,
  /** `GET /health` promises an answer within two seconds; this leaves time to send it, also on a busy machine. */
  healthCheckMilliseconds: 1_000,
  /** How long the object store may take to say that it can be used; orchestrators give a probe a second or two. */
  readinessCheckMilliseconds: 1_000,
  /** How long an answer to `/readyz` holds: however many ask, database and object store are asked once a second. */
  readinessHoldsMilliseconds: 1_000,
  /** An S3 connection that is not open by then is tried again. */
  s3ConnectMilliseconds: 5_000,
  /**
   * A request to S3 fails, and is not repeated, when nothing moves on its connection for this long. A store that is slow
   * does send something: S3 sends white space while it copies an object or joins its parts.
   */
  s3IdleMilliseconds: 20_000,
  /**
   * How long an attempt may take from its start to the head of its answer, however steadily something comes or goes: the
   * largest that is sent is a part of an upload, 5 MiB.
   */
  s3AnswerMilliseconds: 5 * 60 * 1000,
  /** Attempts per S3 request, the first one included. */
  s3Attempts: 3,
  /** Part size of a streaming upload, the smallest that S3 allows; two parts are in flight. */
  s3PartBytes: 5 * 1024 * 1024,
  s3PartsInFlight: 2,
  /** A file name in an object's key is cut to this many bytes: a local file system allows 255. */
  keyFileNameBytes: 200,
  /** A partner's slug in an object's key is cut to this many characters, for the same reason. */
  keySlugCharacters: 200,
  /** How much of a raw file is read from disk at once. */
  objectReadBytes: 256 * 1024,
  /** A local file that was being written and has not grown for this long was left by a killed process. */
  abandonedUploadMilliseconds: 24 * 3600 * 1000,
  /**
   * A request's target and headers: Node's own default, written down because a flag of Node can change it. Proxies refuse
   * as much or less.
   */
  headerBytes: 16 * 1024,
  /** Headers of a request; clients and proxies together send some thirty. Node drops those beyond its limit silently. */
  headers: 100,
  /** How long the headers of a request may take to arrive, byte by byte or not at all. */
  requestHeadersMilliseconds: 60_000,
  /**
   * How long a client may take nothing of its response, and the time over which its pace is measured while it sends. An
   * upload as such may take any time; one that stands still holds a connection, a part of memory and a file.
   */
  requestIdleMilliseconds: 60_000,
  /** The least pace of a client that sends a body, and of the object store. The slowest line that is in use has more. */
  bytesPerSecondMin: 1024,
  /** What a client takes of its response is seen by pieces of this size. */
  responsePieceBytes: 32 * 1024,
  /**
   * How long a client may take nothing of a response. Much more than that: the kernel takes megabytes for it at once, and
   * then nothing until most of that has gone; a client that reads 8 KiB a second shows no movement for minutes.
   */
  responseIdleMilliseconds: 15 * 60_000,
  /** An object that no row names is removed when it is older: an upload has its object before its row. */
  orphanObjectMilliseconds: 24 * 3600 * 1000,
  /** Keys that are looked up in the database at once, as many as S3 lists at once. */
  objectsPerLookUp: 1_000,
  /**
   * How long a connection may wait for its next request. Clients and load balancers give theirs up after a minute at
   * most; whoever closes first must be they, or a request is lost on the way.
   */
  keepAliveMilliseconds: 65_000,
  /** How long a process remembers what the database said of a key: a revoked one works no longer than that. */
  keyMemoryMilliseconds: 2_000,
  /** Of how many keys: 2 MB. */
  keysRemembered: 10_000,
  /** What a client is told to wait after a 503. */
  retryAfterSeconds: 5,
  /** A client that is refused may finish sending for this long, so that it gets to read why. */
  refusedBodyDrainMilliseconds: 10_000,
} as const;
