import { on } from 'node:events';
import { Readable } from 'node:stream';
import type { MessagePort } from 'node:worker_threads';

/** Message of the sender: requested bytes, the end, or a failure. */
type Message = { bytes: Uint8Array } | { end: true } | { failed: string };

/**
 * Sends a stream to another thread, chunk by chunk on request. Each chunk must own its whole `ArrayBuffer`, which moves.
 *
 * Returns when the source ends or fails, or the receiver closes the port; then closes the source.
 */
export async function sendThrough(port: MessagePort, source: Readable): Promise<void> {
  const chunks = source.iterator() as AsyncIterableIterator<Buffer>;
  const send = (message: Message) => port.postMessage(message);
  try {
    for await (const _ of on(port, 'message', { close: ['close'] })) {
      const next = await chunks.next();
      if (next.done) {
        send({ end: true });
        return;
      }
      // Transferred, not copied.
      port.postMessage({ bytes: next.value } satisfies Message, [next.value.buffer as ArrayBuffer]);
    }
  } catch (error) {
    send({ failed: (error as Error).message });
  } finally {
    source.destroy();
    port.close();
  }
}

/** Receives the stream that another thread sends with `sendThrough`. Destroying it stops the sender. */
export function receiveFrom(port: MessagePort): Readable {
  let hasEnded = false;
  const stream = new Readable({
    read: () => port.postMessage('more'),
    destroy(error, done) {
      port.close();
      done(error);
    },
  });
  // Readers see the error; without any listener it would terminate the process.
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
    if (!hasEnded) stream.destroy(new Error('The sending thread has terminated.'));
  });
  return stream;
}
