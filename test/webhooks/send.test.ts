import * as sendModule from '../../src/webhooks/send';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { send } from '../../src/webhooks/send';
import { afterFile } from '../support/harness';

afterEach(() => jest.restoreAllMocks());

/** Starts a receiver that does this with a connection on which a request has begun to come. @returns its URL */
async function receiver(answer: (socket: Socket) => void): Promise<string> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket.on('error', () => undefined));
    socket.once('data', () => answer(socket));
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
    'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD',
    { id: 'msg_1', body: '{}' },
    { privateAddresses: true, signal },
  );

/** Far longer than any of this takes: what ends before was not ended by it. */
const neverLate = () => jest.replaceProperty(sendModule, 'webhookMilliseconds', (10 * 60_000) as never);
const soonLate = () => jest.replaceProperty(sendModule, 'webhookMilliseconds', 300 as never);

describe('what is sent ends', () => {
  it.each([
    [
      'the receiver goes on with another protocol',
      'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n',
    ],
    ['there is no answer', ''],
    ['there is a part of one', 'HTTP/1.1 200 OK\r\ncontent-'],
    ['there is only one that is to come', 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'],
    ['it is no HTTP', 'SSH-2.0-OpenSSH_9.6\r\n'],
  ])('as a failure when %s and the connection is closed', async (_what, text) => {
    neverLate();
    const url = await receiver((socket) => socket.end(text));

    await expect(sendTo(url)).rejects.toThrow();
  });

  it('as a failure when the receiver goes on with another protocol and holds the connection', async () => {
    neverLate();
    const url = await receiver((socket) =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n'),
    );

    await expect(sendTo(url)).rejects.toThrow('the connection was closed without an answer');
  });

  it.each([
    [
      'with its status, when the answer is cut off after it',
      'HTTP/1.1 202 Accepted\r\ncontent-length: 9\r\n\r\nThan',
    ],
    [
      'with its status, when that comes after others',
      'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 202 Accepted\r\n\r\n',
    ],
  ])('%s', async (_what, text) => {
    neverLate();
    const url = await receiver((socket) => socket.end(text));

    expect(await sendTo(url)).toBe(202);
  });

  it.each<[string, (socket: Socket) => void]>([
    ['says nothing', () => undefined],
    [
      'only ever says that an answer is to come',
      (socket) => {
        const goOn = () => {
          socket.write('HTTP/1.1 102 Processing\r\n\r\n');
          if (!socket.destroyed) setTimeout(goOn, 20);
        };
        goOn();
      },
    ],
    ['does not end its headers', (socket) => socket.write('HTTP/1.1 200 OK\r\na: b\r\n')],
  ])('in time when the receiver %s', async (_what, answer) => {
    soonLate();

    await expect(sendTo(await receiver(answer))).rejects.toThrow('no answer within 0.3 s');
  });

  it('when it is given up', async () => {
    neverLate();
    const stop = new AbortController();
    const url = await receiver(() => stop.abort());

    await expect(sendTo(url, stop.signal)).rejects.toMatchObject({ name: 'AbortError' });
  });
});
