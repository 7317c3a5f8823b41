import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
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

describe('POST /feeds/upload', () => {
  it.each([
    ['less than the header row may have', 200_000],
    ['more than the header row may have', 400_000],
  ])('keeps nobody waiting when each byte is a chunk: %s', async (_size, bytes) => {
    const csv = 'sku,product_name\n1,Tent\n'.padEnd(bytes, '2,Lamp\n');
    const body = formBody([partnerPart(), filePart(csv)]);
    let answer: string | undefined;
    let slowest = 0;

    const upload = uploadByteByByte(body).then((text) => (answer = text));
    while (answer === undefined) {
      const asked = performance.now();
      expect((await service.api.get('/health')).status).toBe(200);
      slowest = Math.max(slowest, performance.now() - asked);
    }

    expect(await upload).toMatch(/^HTTP\/1\.1 201 /);
    // Work that grows with the square of the chunks would take many times as long.
    expect(slowest).toBeLessThan(2000);
    const [, feedId] = /"feed_id":"(FD\d+)"/.exec(answer)!;
    expect(await readFile(await rawFilePath(service, feedId!), 'utf8')).toBe(csv);
  });
});
