import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RecordedRequest } from '../../../scripts/schemathesis-report';
import { documentedResponses, operationOf } from '../../support/contract';
import { sendRaw, type RawResponse } from '../../support/requests';
import { startTestService, testKey } from '../../support/service';

/** Recorded by `make schemathesis RECORD=1`, in the order of sending: later requests use results of earlier ones. */
const recorded = readFileSync(join(__dirname, 'requests.jsonl'), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as RecordedRequest);

/** Operations that are newer than the recording: the next one adds them. */
const notRecorded = [
  'deleteWebhook',
  'getSalesByProduct',
  'getSkippedRows',
  'getWebhook',
  'pauseWebhook',
  'pingWebhook',
  'replaceWebhook',
  'replayWebhook',
];

function send(url: string, { method, target, headers, key = testKey, body }: RecordedRequest) {
  const bytes = Buffer.from(
    typeof body === 'object' ? body.base64 : (body ?? ''),
    typeof body === 'object' ? 'base64' : 'utf8',
  );
  return sendRaw(url, {
    method,
    path: target,
    headers: {
      ...headers,
      ...(key !== null && { 'x-api-key': key }),
      ...(bytes.length > 0 && { 'content-length': bytes.length }),
    },
    chunks: bytes.length > 0 ? [bytes] : [],
  });
}

/** Checks a response. The service has checked the body: an undocumented one is a 500. */
function fault({ method, target, kind, status: recordedStatus }: RecordedRequest, response: RawResponse) {
  const { status, headers } = response;
  const operationId = operationOf(method, target);
  if (status >= 500) return 'a fault of the service';
  if (operationId === undefined) return status === 404 || status === 405 ? '' : 'not 404 or 405';
  const mediaType = headers['content-type']?.split(';')[0] ?? 'none';
  const isDocumented = documentedResponses.some(
    (each) => each.operationId === operationId && each.status === status && each.mediaType === mediaType,
  );
  if (!isDocumented) return `the document has no such response, with ${mediaType}`;
  if (kind === 'wrong' && recordedStatus >= 400 && status < 400) return 'the wrong request is accepted';
  // A replay sends only a part of the requests, so a resource may be missing.
  if (kind === 'right' && recordedStatus < 400 && [400, 401, 413, 415, 422].includes(status))
    return 'the right request is refused';
  return '';
}

describe('the requests recorded from Schemathesis', () => {
  it('get documented responses: invalid requests are rejected, valid ones are not', async () => {
    const { url } = await startTestService({ queuedRuns: 1 });
    const faults: string[] = [];
    for (const request of recorded) {
      const response = await send(url, request);
      const found = fault(request, response);
      if (found)
        faults.push(
          `${found}: ${JSON.stringify(request)} -> ${response.status} ${response.text.slice(0, 300)}`,
        );
    }

    expect(faults).toEqual([]);
  });

  it('cover every operation that is older than the recording, including successful uploads', () => {
    const operations = new Set(recorded.map(({ method, target }) => operationOf(method, target)));
    const documented = new Set(documentedResponses.map(({ operationId }) => operationId));
    const uploads = recorded.filter(
      ({ operation, status }) => operation === 'POST /feeds/upload' && status === 201,
    );

    const missing = [...documented].filter((operation) => !operations.has(operation)).sort();
    expect({ 'to record by `make schemathesis RECORD=1`': missing }).toEqual({
      'to record by `make schemathesis RECORD=1`': notRecorded,
    });
    expect(uploads.length).toBeGreaterThan(5);
  });

  it.each<[string, Partial<RecordedRequest>, number, string]>([
    ['a fault of the service', {}, 500, 'application/json'],
    ['the document has no such response, with text/html', {}, 200, 'text/html'],
    ['the document has no such response, with application/json', {}, 418, 'application/json'],
    ['the wrong request is accepted', { kind: 'wrong', status: 422 }, 200, 'application/json'],
    ['the right request is refused', {}, 422, 'application/json'],
    ['not 404 or 405', { method: 'DELETE' }, 200, 'application/json'],
  ])('report a response that violates the document: %s', (expected, difference, status, mediaType) => {
    const request = {
      operation: 'GET /orders',
      kind: 'right',
      status: 200,
      method: 'GET',
      target: '/orders',
    } as const;

    expect(
      fault({ ...request, ...difference }, { status, headers: { 'content-type': mediaType }, text: '' }),
    ).toBe(expected);
  });
});
