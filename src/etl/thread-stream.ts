import { on } from 'node:events';
import { Readable } from 'node:stream';
import type { MessagePort } from 'node:worker_threads';

/** What the sending side says: a text that was asked for, the end, or why there is none. */
type Message = { text: string } | { end: true } | { failed: string };

/**
 * Sends texts to another thread, each when that asks for it. Returns when the source has ended or failed, or when nobody
 * wants more; the source is closed then.
 */
export async function sendThrough(port: MessagePort, source: Readable): Promise<void> {
  const texts = source.iterator() as AsyncIterableIterator<string>;
  const say = (message: Message) => port.postMessage(message);
  try {
    for await (const _ of on(port, 'message', { close: ['close'] })) {
      const next = await texts.next();
      if (next.done) {
        say({ end: true });
        return;
      }
      say({ text: next.value });
    }
  } catch (error) {
    say({ failed: (error as Error).message });
  } finally {
    source.destroy();
    port.close();
  }
}

/** The texts that another thread sends with `sendThrough`. Destroying the stream tells that thread to stop. */
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
    if ('text' in message) stream.push(message.text);
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
