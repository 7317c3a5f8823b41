import { readFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { fetchLimits } from '../../../src/intake/sources/fetch-source';
import { openUrlLimits } from '../../../src/intake/sources/open-url';
import { csv, fetchNow, putSource, startFeedServer, type FeedServer } from '../../support/source-requests';
import { afterFile, project } from '../../support/harness';
import { startNameServer } from '../../support/network';
import { startTestService, type TestService } from '../../support/service';
import { filesBelow } from '../../support/stored-uploads';

const partner = 'Acme Outdoor';
let service: TestService;
let closed: TestService;
let feeds: FeedServer;
let rawUrl: string;
/** The bytes that the server without HTTP sends. */
let speak: (socket: Socket) => void;

beforeAll(async () => {
  service = await startTestService({
    sources: { privateAddresses: true, spread: 0 },
    uploadBytesMax: 100_000,
  });
  closed = await startTestService({ sources: { privateAddresses: false, spread: 0 } });
  await startNameServer({ 'private.test': ['127.0.0.1'] });
  feeds = await startFeedServer((_request, response) => void response.end(csv));
  const raw = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => speak(socket));
  });
  await new Promise<void>((resolve) => raw.listen(0, '127.0.0.1', resolve));
  afterFile(() => void raw.close());
  rawUrl = `http://127.0.0.1:${(raw.address() as { port: number }).port}`;
});
beforeEach(() => {
  jest.replaceProperty(openUrlLimits, 'idleMilliseconds', 500);
  jest.replaceProperty(fetchLimits, 'attemptMilliseconds', 3_000);
});

/** Sends chunks with a pause between them until the client disconnects. */
function drip(socket: NodeJS.WritableStream, piece: string, milliseconds: number): void {
  const timer = setInterval(() => void socket.write(piece, 'latin1'), milliseconds);
  socket.on('close', () => clearInterval(timer));
}

interface Hostile {
  /** Port of the feed server. */
  respond?: FeedServer['respond'];
  /** Port of the server without HTTP. */
  speak?: (socket: Socket) => void;
  /** Default: the port of the feed server. */
  url?: () => string;
  /** Allows public addresses only. */
  closed?: boolean;
}

/** Start of a gzip file. */
const gzipHead = Buffer.from('1f8b0800000000000003', 'hex');
/** Stored blocks of no bytes. */
const nothing = Buffer.from('000000ffff', 'hex').toString('latin1').repeat(1_000);

/** 5 KB that unpack to 5 MB. */
const bomb = gzipSync(csv + 'x'.repeat(5_000_000));

const head = 'HTTP/1.1 200 OK\r\n';

/** The servers in the table of the page, by its first column. */
const servers: Record<string, Hostile> = {
  'refuses connections': { url: () => 'http://127.0.0.1:1/a.csv' },
  'has no address': { url: () => 'http://unknown.test/a.csv', closed: true },
  'has a private address': { closed: true },
  'has a name with a private address': {
    url: () => `http://private.test:${new URL(feeds.url).port}/a.csv`,
    closed: true,
  },
  'does not respond': { speak: () => undefined },
  'stalls during the file': { respond: (_request, response) => void response.write('sku') },
  'sends headers without end, slowly': {
    speak(socket) {
      socket.write(head);
      drip(socket, 'x-a: b\r\n', 50);
    },
  },
  'sends headers without end, fast': {
    speak(socket) {
      socket.write(head);
      drip(socket, `x-a: ${'b'.repeat(10_000)}\r\n`, 1);
    },
  },
  'speaks no HTTP': { speak: (socket) => void socket.end('SSH-2.0-OpenSSH_9.2\r\n') },
  'breaks off': { respond: (_request, response) => void response.destroy() },
  'sends fewer bytes than it announced': {
    respond(_request, response) {
      response.writeHead(200, { 'content-length': 2 * csv.length });
      response.write(csv, () => response.destroy());
    },
  },
  'sends more bytes than it announced': {
    speak: (socket) => void socket.end(`${head}content-length: 5\r\n\r\n${csv}`),
  },
  'sends a file without end, slowly': {
    respond(_request, response) {
      response.write('sku,product_name\n');
      drip(response, 'A,Tent\n', 100);
    },
  },
  'sends a file without end, just fast enough': {
    respond(_request, response) {
      response.write('sku,product_name\n');
      drip(response, 'A,Tent\n'.repeat(100), 50);
    },
  },
  'sends a file without end, fast': {
    respond(_request, response) {
      response.write('sku,product_name\n');
      drip(response, 'A,Tent\n'.repeat(1_000), 1);
    },
  },
  'compresses a huge file': {
    respond: (_request, response) => void response.setHeader('content-encoding', 'gzip').end(bomb),
  },
  'sends empty compressed data without end': {
    respond(_request, response) {
      response.setHeader('content-encoding', 'gzip').write(gzipHead);
      drip(response, nothing, 20);
    },
  },
  'sends half of a compressed file': {
    respond: (_request, response) =>
      void response.setHeader('content-encoding', 'gzip').end(gzipSync(csv).subarray(0, -10)),
  },
  'uses an unsupported Content-Encoding': {
    respond: (_request, response) => void response.setHeader('content-encoding', 'br').end(csv),
  },
  'sends a login page with 200': {
    respond: (_request, response) => void response.end('<!doctype html><title>Log in</title>'),
  },
  'sends an error in JSON with 200': { respond: (_request, response) => void response.end('{"error":"x"}') },
  'sends a ZIP archive': {
    respond: (_request, response) => void response.end(Buffer.from('504b03041400060008000000', 'hex')),
  },
  'sends an empty file': { respond: (_request, response) => void response.end() },
  'sends another encoding': {
    respond: (_request, response) => void response.end(Buffer.from('sku,product_name\nA,Zelté\n', 'latin1')),
  },
  'sends other columns': { respond: (_request, response) => void response.end('a,b\n1,2\n') },
  'has lost the file': { respond: (_request, response) => void response.writeHead(404).end() },
  'refuses the secrets': { respond: (_request, response) => void response.writeHead(401).end() },
  'asks to wait': {
    respond: (_request, response) => void response.writeHead(429, { 'retry-after': '7200' }).end(),
  },
  'is overloaded': { respond: (_request, response) => void response.writeHead(503).end() },
  'sends a part with 206': { respond: (_request, response) => void response.writeHead(206).end(csv) },
  'responds with 304 to a request without a condition': {
    respond: (_request, response) => void response.writeHead(304).end(),
  },
  'redirects in a circle': {
    respond: (_request, response) => void response.writeHead(302, { location: '/a.csv' }).end(),
  },
  'redirects to no http': {
    respond: (_request, response) => void response.writeHead(302, { location: 'file:///etc/passwd' }).end(),
  },
};

const page = 'docs/how-to/fetch-feeds.md';
/** The rows of the table: server, reason, whether the fetch is repeated. */
const rows = Array.from(
  readFileSync(join(project, page), 'utf8').matchAll(/^\| … (.+?) +\| `(.+?)` +\| (yes|no) /gm),
  ([, server, reason, repeated]) => [server!, reason!, repeated!] as const,
);

it('the page has a row for each server', () => {
  expect(rows.map(([server]) => server)).toEqual(Object.keys(servers));
});

it.each(rows)('a server that %s: %s', async (server, reason, repeated) => {
  const { respond, url, closed: isClosed, ...other } = servers[server]!;
  const of = isClosed ? closed : service;
  if (respond) feeds.respond = respond;
  if (other.speak) speak = other.speak;
  const before = await filesBelow(of.dataDir);
  const name = `source-${Object.keys(servers).indexOf(server)}`;
  const target = url?.() ?? `${other.speak ? rawUrl : feeds.url}/a.csv`;
  expect((await putSource(of.api, partner, name, { url: target, run_after_fetch: false })).status).toBe(200);

  const fetch = await fetchNow(of.api, partner, name);

  expect(fetch.failure_reason.split(':')[0]).toBe(reason);
  expect(fetch).toMatchObject({ status: repeated === 'yes' ? 'queued' : 'failed', feed_id: null });
  expect(await filesBelow(of.dataDir)).toEqual(before);
  expect((await of.api.get('/feeds')).body.count).toBe(0);
});
