import { on } from 'node:events';
import { Readable } from 'node:stream';
import type { MessagePort } from 'node:worker_threads';

/** What the sending side says: bytes that were asked for, the end, or why there are none. */
type Message = { bytes: Uint8Array } | { end: true } | { failed: string };

/**
 * Sends bytes to another thread, each piece when that asks for it; it is gone here then, with the memory that it lies in.
 * Returns when the source has ended or failed, or when nobody wants more; the source is closed then.
 */
export async function sendThrough(port: MessagePort, source: Readable): Promise<void> {
  const pieces = source.iterator() as AsyncIterableIterator<Buffer>;
  const say = (message: Message) => port.postMessage(message);
  try {
    for await (const _ of on(port, 'message', { close: ['close'] })) {
      const next = await pieces.next();
      if (next.done) {
        say({ end: true });
        return;
      }
      // Its memory moves: a copy would be that of the whole memory that the piece lies in.
      port.postMessage({ bytes: next.value } satisfies Message, [next.value.buffer as ArrayBuffer]);
    }
  } catch (error) {
    say({ failed: (error as Error).message });
  } finally {
    source.destroy();
    port.close();
  }
}

/** The bytes that another thread sends with `sendThrough`. Destroying the stream tells that thread to stop. */
export function receiveFrom(port: MessagePort): Readable {
  let hasEnded = false;
  const stream = new Readable({
    read: () => port.postMessage('more'),
    destroy(error, done) {
      port.close();
      done(error);
    },
  });
  // Whoever reads the stream learns of its error; without a listener it would end the process.
  stream.on('error', () => undefined);
  port.on('message', (message: Message) => {
    if ('bytes' in message) stream.push(message.bytes);
    else if ('failed' in message) stream.destroy(new Error(message.failed));
    else {
      hasEnded = true;
      stream.push(null);
    }
  });
  port.on('close', () => {
    if (!hasEnded) stream.destroy(new Error('The thread that sends has ended.'));
  });
  return stream;
}
