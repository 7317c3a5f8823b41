import { once } from 'node:events';
import { startClaimingWorker, type ClaimingWorker } from '../../../src/base/concurrency/claiming-worker';

const longer = 3_600_000;

let worker: ClaimingWorker | undefined;
afterEach(() => worker?.stop());

/** Starts a worker with items that are claimed in this order, at most two at once, and that end when a test ends them. */
function start({
  items,
  pollMilliseconds = 5,
  shutdownSeconds = longer,
  claim = (max) => items.splice(0, max),
}: {
  items: string[];
  pollMilliseconds?: number;
  shutdownSeconds?: number;
  claim?: (max: number) => string[];
}) {
  const events = new EventTarget();
  const running = new Map<string, { resolve: () => void; reject: (error: Error) => void }>();
  const errors: [unknown, string?][] = [];
  let most = 0;
  worker = startClaimingWorker<string>({
    pollMilliseconds,
    shutdownSeconds,
    claim: (inProgress) => Promise.resolve(claim(2 - inProgress)),
    execute(item, signal) {
      const executed = new Promise<void>((resolve, reject) => {
        running.set(item, { resolve, reject });
        signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
      });
      most = Math.max(most, running.size);
      events.dispatchEvent(new Event(item));
      return executed.finally(() => running.delete(item));
    },
    onClaimError: (error) => errors.push([error]),
    onError: (error, item) => errors.push([error, item]),
  });
  return {
    worker,
    errors,
    begun: (item: string) => (running.has(item) ? undefined : once(events, item)),
    end: (item: string) => running.get(item)!.resolve(),
    fail: (item: string, error: Error) => running.get(item)!.reject(error),
    most: () => most,
  };
}

it('executes claimed items concurrently, and claims only as many as there is room for', async () => {
  const { begun, end, most } = start({ items: ['a', 'b', 'c', 'd'] });
  await begun('b');
  end('a');
  await begun('c');
  end('b');
  await begun('d');
  end('c');
  end('d');

  expect(most()).toBe(2);
});

it('claims again as soon as an item has ended, without waiting for its interval', async () => {
  const { begun, end } = start({ items: ['a', 'b', 'c'], pollMilliseconds: longer });
  await begun('b');
  end('a');

  await begun('c');
  end('b');
  end('c');
});

it('reports an item that failed, and claims the next one', async () => {
  const { begun, end, fail, errors } = start({ items: ['a', 'b', 'c'], pollMilliseconds: longer });
  await begun('b');
  const error = new Error('failed');
  fail('a', error);
  await begun('c');
  end('b');
  end('c');

  expect(errors).toEqual([[error, 'a']]);
});

it('reports a claim that failed', () => {
  const error = new Error('no database');
  const { errors } = start({
    items: [],
    claim: () => {
      throw error;
    },
  });

  return Promise.resolve().then(() => expect(errors).toEqual([[error]]));
});

describe('at its stop', () => {
  it('claims nothing more, and waits for the items in progress', async () => {
    const { worker, begun, end, errors } = start({ items: ['a', 'b', 'c'] });
    await begun('b');
    let isStopped = false;
    const stopped = worker.stop().then(() => (isStopped = true));
    end('a');
    await new Promise(setImmediate);
    expect(isStopped).toBe(false);
    end('b');
    await stopped;

    expect([begun('c') === undefined, errors]).toEqual([false, []]);
  });

  it('aborts the items that take longer than the shutdown allows', async () => {
    const { worker, begun, errors } = start({ items: ['a'], shutdownSeconds: 0 });
    await begun('a');
    await worker.stop();

    expect(errors).toEqual([[expect.objectContaining({ name: 'AbortError' }), 'a']]);
  });

  it('can be called again', async () => {
    const { worker, begun, end } = start({ items: ['a'] });
    await begun('a');
    const stopped = [worker.stop(), worker.stop()];
    end('a');

    await Promise.all(stopped);
  });
});
