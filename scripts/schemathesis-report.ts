export interface RecordedRequest {
  /** As in Schemathesis, `POST /orders`; the method may be undocumented. */
  operation: string;
  /** `right`: valid; `wrong`: one part is invalid. */
  kind: 'right' | 'wrong';
  status: number;
  method: string;
  target: string;
  headers?: Record<string, string>;
  /** Replaces the valid API key; null: none. */
  key?: string | null;
  /** Base64 for binary bodies. */
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

/** Maximum per operation; the whole run has several times as many. */
const perOperation = 40;
const boundary = 'boundary-of-the-form';
/** Every operation rejects a wrong key in the same way. */
const wrongKeysPerOperation = 3;
/** Longer requests wait for events that a replay does not have. */
const secondsMax = 1;
/** Unknown to Node 20, known to later versions. */
const differing = 'QUERY';

/** Selects distinct requests from a report (NDJSON), evenly per operation. */
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

/** Encodes a body as JSON, with a fixed boundary. */
function withBoundary(bytes: Buffer, used = boundary): RecordedRequest['body'] {
  const text = bytes.toString('latin1').replaceAll(`--${used}`, `--${boundary}`);
  const body = Buffer.from(text, 'latin1');
  return Buffer.from(body.toString()).equals(body) ? body.toString() : { base64: body.toString('base64') };
}
