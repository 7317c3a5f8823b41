/** A request that Schemathesis sent, and what it was to show. */
export interface RecordedRequest {
  /** As Schemathesis names it, `POST /orders`; also with a method that the document does not have. */
  operation: string;
  /** `right`: by the document; `wrong`: one part of it is not. */
  kind: 'right' | 'wrong';
  status: number;
  method: string;
  target: string;
  /** Without the right key, which is sent with all but those that have `key`. */
  headers?: Record<string, string>;
  /** Sent instead of the right one; null: none. */
  key?: string | null;
  /** In base64 where it is no text. */
  body?: string | { base64: string };
}

interface Scenario {
  recorder: {
    cases: Record<
      string,
      { value: { method: string; path: string; meta: { generation: { mode: string } } | null } }
    >;
    interactions?: Record<
      string,
      {
        request: {
          method: string;
          uri: string;
          headers: Record<string, string[]>;
          body: { $base64: string } | null;
        };
        response: { status_code: number; elapsed: number } | null;
      }
    >;
  };
}

/** Enough for each way that an operation can go; the whole run has several times as many. */
const perOperation = 40;
const boundary = 'boundary-of-the-form';
/** Each operation refuses a wrong key in the same way. */
const wrongKeysPerOperation = 3;
/** Longer ones wait for what happens meanwhile, and in a replay nothing does. */
const secondsMax = 1;
/** Node 20 does not know it as a method, later ones do. */
const differing = 'QUERY';

/** Picks from a report (NDJSON) requests that differ, of each operation as many, evenly from its start to its end. */
export function recordedRequests(report: string, rightKey: string): RecordedRequest[] {
  const seen = new Set<string>();
  const wrongKeys = new Map<string, number>();
  const requests = report
    .split('\n')
    .filter((line) => line.startsWith('{"ScenarioFinished"'))
    .flatMap((line) =>
      requestsOf((JSON.parse(line) as { ScenarioFinished: Scenario }).ScenarioFinished, rightKey),
    )
    .filter((request) => {
      const { status: _, ...sent } = request;
      const text = JSON.stringify(sent);
      if (request.method === differing || seen.has(text)) return false;
      seen.add(text);
      if (request.key === undefined) return true;
      const before = wrongKeys.get(request.operation) ?? 0;
      wrongKeys.set(request.operation, before + 1);
      return before < wrongKeysPerOperation;
    });
  return requests.filter((request) => {
    const all = requests.filter(({ operation }) => operation === request.operation);
    const step = Math.max(1, all.length / perOperation);
    const at = all.indexOf(request);
    return Math.floor(at / step) !== Math.floor((at - 1) / step);
  });
}

function requestsOf({ recorder }: Scenario, rightKey: string): RecordedRequest[] {
  return Object.entries(recorder.interactions ?? {}).flatMap(([id, { request, response }]) => {
    const { method, path, meta } = recorder.cases[id]!.value;
    if (!response || !meta || response.elapsed > secondsMax) return [];
    const { 'x-api-key': key, ...headers } = Object.fromEntries(
      Object.entries(request.headers).map(([name, values]) => [name, values.join(', ')]),
    );
    const used = /boundary=(\S+)/.exec(headers['Content-Type'] ?? '')?.[1];
    if (used) headers['Content-Type'] = `multipart/form-data; boundary=${boundary}`;
    const body = request.body && withBoundary(Buffer.from(request.body.$base64, 'base64'), used);
    return {
      operation: `${method} ${path}`,
      kind: meta.generation.mode === 'negative' ? 'wrong' : 'right',
      status: response.status_code,
      method: request.method,
      target: request.uri.replace(/^https?:\/\/[^/]+/, ''),
      ...(Object.keys(headers).length > 0 && { headers }),
      ...(key !== rightKey && { key: key ?? null }),
      ...(body && { body }),
    } as const;
  });
}

/** A body as a line of JSON can have it, with the same boundary in all recordings. */
function withBoundary(bytes: Buffer, used = boundary): RecordedRequest['body'] {
  const text = bytes.toString('latin1').replaceAll(`--${used}`, `--${boundary}`);
  const body = Buffer.from(text, 'latin1');
  return Buffer.from(body.toString()).equals(body) ? body.toString() : { base64: body.toString('base64') };
}
