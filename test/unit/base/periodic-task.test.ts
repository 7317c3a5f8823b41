import { once } from 'node:events';
import { startPeriodicTask, type PeriodicTask } from '../../../src/base/concurrency/periodic-task';

let task: PeriodicTask | undefined;
afterEach(() => task?.stop());

/** Starts a task that announces each of its runs. */
function start(
  run: (count: number, signal: AbortSignal) => unknown,
  startsAtOnce = true,
  pauses: { milliseconds: number; millisecondsAfterFailure?: number } = { milliseconds: 5 },
) {
  const runs = new EventTarget();
  const errors: unknown[] = [];
  let count = 0;
  task = startPeriodicTask({
    ...pauses,
    startsAtOnce,
    onError: (error) => errors.push(error),
    run: async (signal) => {
      count++;
      try {
        await run(count, signal);
      } finally {
        runs.dispatchEvent(new Event(`end ${count}`));
      }
    },
  });
  return { errors, ended: (number: number) => once(runs, `end ${number}`), count: () => count };
}

it('runs at once and again after each pause', async () => {
  const { ended, count } = start(() => undefined);
  expect(count()).toBe(1);

  await ended(3);
});

it('pauses before the first run with startsAtOnce false', async () => {
  const { ended, count } = start(() => undefined, false);
  expect(count()).toBe(0);

  await ended(1);
});

it('never starts a run before the last one has ended', async () => {
  let running = 0;
  let most = 0;
  const { ended } = start(async () => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setTimeout(resolve, 20));
    running--;
  });
  await ended(3);

  expect(most).toBe(1);
});

it('reports thrown errors and keeps running', async () => {
  const { errors, ended } = start((count) => {
    if (count === 1) throw new Error('the first one');
  });
  await ended(2);

  expect(errors).toEqual([new Error('the first one')]);
});

it('stops after the run in progress, whose signal it aborts', async () => {
  const { errors, count } = start(async (_count, signal) => {
    await once(signal, 'abort');
    throw new Error('aborted');
  });

  await task!.stop();

  expect(count()).toBe(1);
  expect(errors).toEqual([]);
});

it('can be stopped twice', async () => {
  start(() => undefined);

  await Promise.all([task!.stop(), task!.stop()]);
});

const anHour = 3600_000;

it('runs again at once when it is woken, also during a run', async () => {
  const { ended } = start((count) => count === 2 && task!.wake(), true, { milliseconds: anHour });
  const third = ended(3);

  task!.wake();

  await third;
});

it('has a separate pause after a failure', async () => {
  const pauses = { milliseconds: anHour, millisecondsAfterFailure: 5 };
  const { ended } = start(() => Promise.reject(new Error('each time')), true, pauses);

  await ended(3);
});
