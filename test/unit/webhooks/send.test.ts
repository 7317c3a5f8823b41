import { createServer, type AddressInfo, type Socket } from 'node:net';
import { send, webhookLimits } from '../../../src/webhooks/send';
import { afterFile } from '../../support/harness';

/** Starts a receiver that handles a connection after the first bytes of a request. @returns its URL */
async function receiver(handle: (socket: Socket) => void): Promise<string> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket.on('error', () => undefined));
    socket.once('data', () => handle(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterFile(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const sendTo = (url: string, signal?: AbortSignal) =>
  send(
    url,
    ['whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'],
    { id: 'msg_1', body: '{}' },
    { privateAddresses: true, signal },
  );

/** A timeout longer than any test. */
const neverLate = () => jest.replaceProperty(webhookLimits, 'requestMilliseconds', 10 * 60_000);
const soonLate = () => jest.replaceProperty(webhookLimits, 'requestMilliseconds', 300);

describe('send', () => {
  it.each([
    [
      'the receiver switches protocols',
      'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n',
    ],
    ['there is no response', ''],
    ['the response is truncated in its headers', 'HTTP/1.1 200 OK\r\ncontent-'],
    ['there is only an interim response', 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'],
    ['the response is not HTTP', 'SSH-2.0-OpenSSH_9.6\r\n'],
  ])('fails when %s and the connection is closed', async (_what, text) => {
    neverLate();
    const url = await receiver((socket) => socket.end(text));

    await expect(sendTo(url)).rejects.toThrow();
  });

  it('fails when the receiver switches protocols and keeps the connection open', async () => {
    neverLate();
    const url = await receiver((socket) =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n'),
    );

    await expect(sendTo(url)).rejects.toThrow('the connection was closed without a response');
  });

  it.each([
    [
      'returns the status of a response that is truncated in its body',
      'HTTP/1.1 202 Accepted\r\ncontent-length: 9\r\n\r\nThan',
    ],
    [
      'returns the final status after interim responses',
      'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 202 Accepted\r\n\r\n',
    ],
  ])('%s', async (_what, text) => {
    neverLate();
    const url = await receiver((socket) => socket.end(text));

    expect(await sendTo(url)).toBe(202);
  });

  it.each<[string, (socket: Socket) => void]>([
    ['sends nothing', () => undefined],
    [
      'sends only interim responses',
      (socket) => {
        const writeInterim = () => {
          socket.write('HTTP/1.1 102 Processing\r\n\r\n');
          if (!socket.destroyed) setTimeout(writeInterim, 20);
        };
        writeInterim();
      },
    ],
    ['never ends its headers', (socket) => socket.write('HTTP/1.1 200 OK\r\na: b\r\n')],
  ])('fails at the timeout when the receiver %s', async (_what, handle) => {
    soonLate();

    await expect(sendTo(await receiver(handle))).rejects.toThrow('no response within 0.3 s');
  });

  it('ends when it is aborted', async () => {
    neverLate();
    const stop = new AbortController();
    const url = await receiver(() => stop.abort());

    await expect(sendTo(url, stop.signal)).rejects.toMatchObject({ name: 'AbortError' });
  });
});
