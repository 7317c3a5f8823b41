import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { filePart, formBody, formType, partnerPart } from '../../support/multipart';
import { startTestService, testKey, type TestService } from '../../support/service';
import { rawFilePath } from '../../support/stored';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

/** Uploads a form of which each byte is an HTTP chunk of its own. @returns the whole answer */
async function uploadByteByByte(body: Buffer): Promise<string> {
  const { port, hostname } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  socket.write(
    `POST /feeds/upload HTTP/1.1\r\nHost: ${hostname}\r\nConnection: close\r\nX-API-Key: ${testKey}\r\n` +
      `Content-Type: ${formType}\r\nTransfer-Encoding: chunked\r\n\r\n`,
  );
  socket.write(Buffer.concat([...body].map((byte) => Buffer.from([0x31, 13, 10, byte, 13, 10]))));
  socket.write('0\r\n\r\n');
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  return answer;
}

/** Uploads a feed of this size byte by byte, while others ask for the service's health. @returns how long it took */
async function uploadSeconds(bytes: number): Promise<number> {
  const csv = 'sku,product_name\n1,Tent\n'.padEnd(bytes, '2,Lamp\n');
  const body = formBody([partnerPart(), filePart(csv)]);
  const begun = performance.now();
  let answer: string | undefined;

  const upload = uploadByteByByte(body).then((text) => (answer = text));
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
  it('costs no more per byte when a file of four times the size comes byte by byte', async () => {
    await uploadSeconds(20_000);
    // What else the machine does only adds: the least of two is nearest to the work itself.
    const short = Math.min(await uploadSeconds(20_000), await uploadSeconds(20_000));
    const long = Math.min(await uploadSeconds(80_000), await uploadSeconds(80_000));

    // Work that grows with the square of the chunks takes sixteen times as long.
    expect(long / short).toBeLessThan(10);
  });

  it('keeps what came byte by byte, also beyond what the header row may have', async () => {
    // The comparison with what was sent is its own.
    await expect(uploadSeconds(300_000)).resolves.toEqual(expect.any(Number));
  });
});
