import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { filePart, formBody, formType, partnerPart } from '../../support/requests';
import { startTestService, testKey, type TestService } from '../../support/service';
import { rawFilePath } from '../../support/stored-uploads';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

/** Splits bytes into HTTP chunks of this size. */
function inChunks(body: Buffer, chunkBytes: number): Buffer {
  const chunks: Buffer[] = [];
  for (let at = 0; at < body.length; at += chunkBytes) {
    const chunk = body.subarray(at, at + chunkBytes);
    chunks.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n'));
  }
  return Buffer.concat(chunks);
}

/** Uploads a form in HTTP chunks of this size. @returns the whole response */
async function uploadInChunks(body: Buffer, chunkBytes: number): Promise<string> {
  const { port, hostname } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  socket.write(
    `POST /feeds/upload HTTP/1.1\r\nHost: ${hostname}\r\nConnection: close\r\nX-API-Key: ${testKey}\r\n` +
      `Content-Type: ${formType}\r\nTransfer-Encoding: chunked\r\n\r\n`,
  );
  socket.write(inChunks(body, chunkBytes));
  socket.write('0\r\n\r\n');
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  return answer;
}

/** Uploads a feed of this size in chunks, while others request the service's health. @returns its duration */
async function uploadSeconds(bytes: number, chunkBytes: number): Promise<number> {
  const csv = 'sku,product_name\n1,Tent\n'.padEnd(bytes, '2,Lamp\n');
  const body = formBody([partnerPart(), filePart(csv)]);
  const begun = performance.now();
  let answer: string | undefined;

  const upload = uploadInChunks(body, chunkBytes).then((text) => (answer = text));
  while (answer === undefined) {
    expect((await service.api.get('/health')).status).toBe(200);
    await sleep(10);
  }
  const seconds = (performance.now() - begun) / 1000;

  expect(await upload).toMatch(/^HTTP\/1\.1 201 /);
  const [, feedId] = /"feed_id":"(FD\d+)"/.exec(answer)!;
  expect(await readFile(await rawFilePath(service, feedId!), 'utf8')).toBe(csv);
  return seconds;
}

describe('POST /feeds/upload', () => {
  it('has a constant cost per byte for files that arrive byte by byte', async () => {
    await uploadSeconds(20_000, 1);
    // Other load of the machine only adds time: the minimum of two is nearest to the work itself.
    const short = Math.min(await uploadSeconds(20_000, 1), await uploadSeconds(20_000, 1));
    const long = Math.min(await uploadSeconds(80_000, 1), await uploadSeconds(80_000, 1));

    // Quadratic work would take sixteen times as long.
    expect(long / short).toBeLessThan(10);
  });

  it('stores a file that arrives in small chunks, also beyond the header limit', async () => {
    // The comparison with what was sent is its own.
    await expect(uploadSeconds(300_000, 16)).resolves.toEqual(expect.any(Number));
  });
});
