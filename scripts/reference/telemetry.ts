import { runLogFields } from '../../src/runs/execution/run-feed';
import { requestLogFields, requestOutcomes } from '../../src/http/request-log';
import { serviceMetrics } from '../../src/operation/telemetry/metrics';
import { code, codeBlock, page, table } from './markdown';

export function metricsAndLogsPage(): string {
  return page(
    'Metrics, probes and logs',
    'scripts/reference/telemetry.ts and the tables of the code',
    'With `METRICS_PORT`, a second port serves `GET /metrics`, `GET /livez` and `GET /readyz`. They need no API key: the port' +
      ' must not be reachable from outside.',
    '## Metrics',
    '`GET /metrics` has the text format of Prometheus, and shows its own process: scrape each process. Its labels have a bounded' +
      ' number of values.',
    table(
      ['Metric', 'Type', 'Labels', 'Meaning'],
      Object.entries(serviceMetrics).map(([name, { type, labels, help }]) => [
        code(name),
        type,
        Object.entries(labels)
          .map(([label, values]) => `${code(label)} (${values})`)
          .join(', '),
        help,
      ]),
    ),
    'The label `outcome` of requests has the [outcomes of the log](#outcomes-of-requests). Figures of the pool `etl` are up to a second' +
      ' old. Figures of `catalog_queue_*`, `catalog_webhook_deliveries_waiting`, `catalog_*_oldest_*`,' +
      ' `catalog_source_fetches_running`, `catalog_sales_*` and `catalog_search_*` are up to five seconds old, absent while the' +
      ' database does not respond, and the same on each process: take their maximum.',
    'Metrics that begin with `process_` and `nodejs_` are the' +
      ' [defaults of prom-client](https://github.com/siimon/prom-client#default-metrics): memory, processor time, handles,' +
      ' garbage collection, and the delay of the event loop since the last scrape.',
    '## Probes',
    table(
      ['Path', 'Status', 'Meaning'],
      [
        ['`/livez`', '200', 'The event loop runs.'],
        [
          '`/readyz`',
          '200',
          '`{"status":"ready"}`: the process has started on a schema that fits it, and is not shutting down.',
        ],
        ['`/readyz`', '503', '`{"status":"starting"}`: the start is in progress.'],
        ['`/readyz`', '503', '`{"status":"draining"}`: the process is shutting down.'],
      ],
    ),
    '`/readyz` is about the process alone. A process without database or object store still serves some requests, and a failing' +
      ' probe would remove all processes at once. `catalog_database_up` and `catalog_object_store_up` are checked every five' +
      ' seconds, with a timeout; the check of S3 needs the permission `s3:ListBucket`. `GET /health` on the port of the API is for' +
      ' partners: it is always 200.',
    '## Logs',
    'The service logs one JSON object per line on standard output. Each has `level` (pino: 30 info, 40 warn, 50 error),' +
      ' `time` and `msg`. Lines are written together, at most 100 ms later, and at the end of the process; `SIGKILL` loses those of' +
      ' the last 100 ms. Lines of the ETL thread are written at once, so they can come before earlier ones of the main thread: sort by' +
      ' `time`.',
    codeBlock(
      'text',
      '{"level":30,"time":"2026-11-22T10:15:00.123Z","request_id":"4f0c…","key":"Acme live","operation":"getProduct",' +
        '"method":"GET","path":"/products/PR00001","status":200,"outcome":"ok","duration_ms":3,"bytes_in":141,' +
        '"bytes_out":778,"msg":"request"}',
    ),
    '## Log line of a request',
    'Each request has one line when it is complete, with `msg` `request`:',
    fieldTable(requestLogFields),
    '## Outcomes of requests',
    table(
      ['Outcome', 'Meaning'],
      Object.entries(requestOutcomes).map(([name, meaning]) => [code(name), meaning]),
    ),
    '## Log line of a run',
    'Each run of a job has one line at its end, with `msg` `run`. A failed run has another line before it, `run failed` or' +
      ' `revert failed`, with the reason in `err`.',
    fieldTable(runLogFields),
    '## Secrets in logs',
    'No line contains an API key, a body, a query value or a value of a failed SQL statement. An error (`err`) has `type`,' +
      ' `message`, `stack`, `code` and `cause`. As a second safeguard, headers with secrets and keys of the form `pcis_…` are' +
      ' redacted in every line.',
  );
}

function fieldTable(fields: Record<string, string>): string {
  return table(
    ['Field', 'Meaning'],
    Object.entries(fields).map(([name, meaning]) => [code(name), meaning]),
  );
}
