import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { FileStore } from '../../src/base/storage/file-store';
import { createTestFolder } from '../support/harness';
import { HeldProducts } from '../support/runs-in-flight';
import {
  filePart,
  formBody,
  formType,
  goodCsv,
  partnerPart,
  uploadParts,
  OpenUpload,
  sendRaw,
} from '../support/requests';
import { startTestService, testKey, type TestService } from '../support/service';
import { stored } from '../support/stored-uploads';
import { bytesPerSecondMin } from '../../src/base/concurrency/stall-detector';

const idleMilliseconds = 1_000;
const timedOut = { detail: 'The request took too long to arrive.' };

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ server: { idleMilliseconds } });
});

/** Large enough that storing starts before it has arrived completely. */
const largeCsv = goodCsv + 'LAMP-1,Head lamp,24.50\n'.repeat(40_000);

describe('a client that stops sending without disconnecting', () => {
  it.each([
    ['within the file', [partnerPart(), filePart(largeCsv)], 'LAMP-1'],
    ['within a file that came first', [filePart(largeCsv), partnerPart()], 'LAMP-1'],
    ['between the file and partner_name', [filePart(goodCsv), partnerPart()], 'Acme'],
    ['within the header row', [partnerPart(), filePart(goodCsv)], 'product_name'],
    ['before the first part', [partnerPart(), filePart(goodCsv)], 'partner_name'],
  ])('%s gets 408, and nothing of its upload remains', async (_where, parts, text) => {
    const before = await stored(service);
    const form = formBody(parts);
    const upload = new OpenUpload(service);
    await upload.write(form.subarray(0, form.lastIndexOf(text)));

    const { status, headers, body } = await upload.response;

    expect({ status, body: body as unknown }).toEqual({ status: 408, body: timedOut });
    expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    expect(await stored(service)).toEqual(before);
    upload.abort();
  });

  it('within a JSON body gets 408', async () => {
    const { status, text } = await sendRaw(service.url, {
      method: 'POST',
      path: '/orders',
      headers: { 'x-api-key': testKey, 'content-type': 'application/json', 'content-length': 100 },
      chunks: ['{"partner_name":'],
      unfinished: true,
    });

    expect(status).toBe(408);
    expect(JSON.parse(text)).toEqual(timedOut);
  });
});

describe('a client that sends byte by byte', () => {
  /** Sends a byte at a time until there is a response. */
  async function trickle(socket: Socket, text: string): Promise<string> {
    let answer = '';
    socket.on('data', (chunk) => (answer += String(chunk)));
    for (let at = 0; !answer && at < text.length; at++) {
      socket.write(text[at]!);
      await sleep(idleMilliseconds / 10);
    }
    socket.destroy();
    return answer;
  }
  const openSocket = () => {
    const { port, hostname } = new URL(service.url);
    return connect(Number(port), hostname);
  };

  it.each([
    ['an order', '/orders', 'application/json', '{"partner_name":"', 1_000],
    ['an upload', '/feeds/upload', formType, formBody([partnerPart(), filePart(goodCsv)]).toString(), 10_000],
    [
      'an inspection',
      '/feeds/inspect',
      formType,
      formBody([partnerPart(), filePart(goodCsv)]).toString(),
      10_000,
    ],
  ])('%s gets 408, and nothing of it remains', async (_what, path, contentType, text, length) => {
    const before = await stored(service);
    const socket = openSocket();
    socket.write(
      `POST ${path} HTTP/1.1\r\nhost: x\r\nx-api-key: ${testKey}\r\ncontent-type: ${contentType}\r\n` +
        `content-length: ${length}\r\n\r\n`,
    );

    const answer = await trickle(socket, text.padEnd(length, ' '));

    expect(answer).toMatch(/^HTTP\/1.1 408 /);
    expect(answer.endsWith(JSON.stringify(timedOut))).toBe(true);
    expect(await stored(service)).toEqual(before);
  });

  it('its headers gets 408', async () => {
    const impatient = await startTestService({ server: { headersMilliseconds: 300 } });
    const { port, hostname } = new URL(impatient.url);
    const socket = connect(Number(port), hostname);

    const answer = await trickle(socket, `GET /health HTTP/1.1\r\nhost: x\r\nx-slow: ${'x'.repeat(1000)}`);

    expect(answer).toMatch(/^HTTP\/1.1 408 /);
    expect(answer.endsWith(JSON.stringify(timedOut))).toBe(true);
  });
});

describe('a request is not aborted', () => {
  it('while its body has twice the minimum throughput', async () => {
    const form = formBody([partnerPart('Slow'), filePart(goodCsv + 'LAMP-1,Head lamp,24.50\n'.repeat(200))]);
    const upload = new OpenUpload(service);
    const pieceBytes = bytesPerSecondMin / 2;
    for (let at = 0; at < form.length; at += pieceBytes) {
      await upload.write(form.subarray(at, at + pieceBytes));
      await sleep(idleMilliseconds / 4);
    }
    upload.end();

    expect((await upload.response).status).toBe(201);
  });

  it('while the server pauses reading', async () => {
    class SlowStore extends FileStore {
      override async put(key: string, body: AsyncIterable<Buffer>): Promise<void> {
        await sleep(3 * idleMilliseconds);
        await super.put(key, body);
      }
    }
    const objectStore = new SlowStore(createTestFolder());
    const slow = await startTestService({ objectStore, server: { idleMilliseconds } });

    const { status } = await uploadParts(slow.api, partnerPart(), filePart(largeCsv.repeat(20)));

    expect(status).toBe(201);
  });

  it('while its run is in progress', async () => {
    const feed = await service.api.uploadFeed(goodCsv);
    const held = await HeldProducts.of(service.address);
    const { answer } = await held.run(service.api, feed);

    await sleep(3 * idleMilliseconds);
    await held.release();

    expect((await answer)?.body).toMatchObject({ status: 'completed' });
  });
});
