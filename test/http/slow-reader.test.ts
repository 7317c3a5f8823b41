import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterFile, eventually } from '../support/harness';
import type { UploadedFeed } from '../support/api-client';
import { openFiles } from '../support/requests';
import { startTestService, testKey, type TestService } from '../support/service';

const idleMilliseconds = 500;

/** More than the buffers between two sockets; the rows are long and quick to read. */
const largeCsv = 'sku,product_name,price,description\n' + `A,A,NA,${'x'.repeat(50_000)}\n`.repeat(480);
const fileBytes = largeCsv.length;

let service: TestService;
let feed: UploadedFeed;
beforeAll(async () => {
  service = await startTestService({
    concurrentDownloads: 1,
    server: { responseIdleMilliseconds: idleMilliseconds },
  });
  feed = await service.api.uploadFeed(largeCsv);
  await service.db('validation_jobs').update({
    status: 'completed',
    started_at: new Date(),
    finished_at: new Date(),
    processed: 0,
    inserted: 0,
    updated: 0,
    unchanged: 0,
    skipped: 0,
    withdrawn: 0,
    restored: 0,
  });
});

beforeEach(() => eventually('no file is open', () => openFiles(service.dataDir).length === 0));

/** Sends a request, and reads nothing of the response. */
function ask(path: string, times = 1): Socket {
  const { port, hostname } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  socket.pause();
  socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nx-api-key: ${testKey}\r\n\r\n`.repeat(times));
  afterFile(() => void socket.destroy());
  return socket;
}

/** Reads the available bytes, to the end of the connection. @returns their number */
async function readRest(socket: Socket): Promise<number> {
  let bytes = 0;
  socket.on('data', (chunk: Buffer) => (bytes += chunk.length)).resume();
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
  return bytes;
}

const download = () =>
  fetch(`${service.url}/feeds/${feed.feedId}/raw`, { headers: { 'x-api-key': testKey } });

describe('a client that reads nothing of its response', () => {
  it('is disconnected, and its permit goes to a waiting client', async () => {
    const socket = ask(`/feeds/${feed.feedId}/raw`);
    await eventually('it has its place', () => openFiles(service.dataDir).length === 1);

    const next = await download();

    expect((await next.arrayBuffer()).byteLength).toBe(fileBytes);
    expect(await readRest(socket)).toBeLessThan(fileBytes);
  });

  it('is disconnected from a streamed response', async () => {
    const socket = ask(`/jobs/${feed.jobId}/rejects.csv`);
    await eventually('it is being made', () => openFiles(service.dataDir).length === 1);

    await eventually('its file is closed', () => openFiles(service.dataDir).length === 0);

    expect(await readRest(socket)).toBeLessThan(fileBytes);
  });

  it('is disconnected when it pipelines many small requests', async () => {
    const socket = ask('/feeds/profile', 2_000);
    let closed = false;
    socket.on('close', () => (closed = true));

    // Only a write detects that the connection was closed.
    await eventually('it is cut off', async () => {
      await sleep(50);
      socket.write('\r\n');
      return closed;
    });
  });
});

describe('a client that reads its response slowly', () => {
  it('gets the whole response', async () => {
    const { port, hostname } = new URL(service.url);
    const socket = connect(Number(port), hostname);
    socket.write(
      `GET /feeds/${feed.feedId}/raw HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-api-key: ${testKey}\r\n\r\n`,
    );
    const startedAt = performance.now();
    let bytes = 0;
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (performance.now() - startedAt < 3 * idleMilliseconds) await sleep(idleMilliseconds / 50);
    }

    expect(performance.now() - startedAt).toBeGreaterThan(2 * idleMilliseconds);
    expect(bytes).toBeGreaterThan(fileBytes);
  });
});

describe('a client that disconnects while pipelined responses wait', () => {
  it('releases all of their permits', async () => {
    const other = await startTestService({ concurrentDownloads: 6 });
    const { feedId } = await other.api.uploadFeed(largeCsv);
    const { port, hostname } = new URL(other.url);
    const socket = connect(Number(port), hostname);
    socket.pause();
    socket.write(`GET /feeds/${feedId}/raw HTTP/1.1\r\nhost: x\r\nx-api-key: ${testKey}\r\n\r\n`.repeat(3));
    await eventually('they have their places', () => openFiles(other.dataDir).length === 3);

    socket.destroy();

    await eventually('the files are closed', () => openFiles(other.dataDir).length === 0);
    const key = { headers: { 'x-api-key': testKey } };
    const answers = await Promise.all(
      [1, 2, 3].map(async () => {
        const response = await fetch(`${other.url}/feeds/${feedId}/raw`, key);
        await response.arrayBuffer();
        return response.status;
      }),
    );
    expect(answers).toEqual([200, 200, 200]);
  });
});
