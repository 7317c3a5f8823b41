import { createBatcher, type Settled } from '../../../src/base/concurrency/batcher';

const limits = { tasksMax: 3, sizeMax: 10, sizeOf: (task: number) => task, concurrentMax: 1, waitingMax: 5 };

/** A controllable batch in progress. */
function heldWork() {
  const goes: { tasks: number[]; end: () => void; fail: (error: Error) => void }[] = [];
  const work = (tasks: number[]) =>
    new Promise<Settled<string>[]>((resolve, reject) => {
      goes.push({
        tasks,
        end: () =>
          resolve(tasks.map((task) => (task === 7 ? { error: new Error('7') } : { result: `did ${task}` }))),
        fail: reject,
      });
    });
  return { goes, work };
}

const settle = (promises: Promise<string>[]) => Promise.allSettled(promises);
const results = (outcomes: PromiseSettledResult<string>[]) =>
  outcomes.map((one) => (one.status === 'fulfilled' ? one.value : (one.reason as Error).message));

it('runs a lone task at once, and tasks that arrive meanwhile as a batch', async () => {
  const { goes, work } = heldWork();
  const take = createBatcher(limits, work);
  const first = take(1);
  const others = [take(2), take(3)];

  expect(goes.map(({ tasks }) => tasks)).toEqual([[1]]);
  goes[0]!.end();
  expect(await first).toBe('did 1');
  expect(goes.map(({ tasks }) => tasks)).toEqual([[1], [2, 3]]);
  goes[1]!.end();

  expect(await Promise.all(others)).toEqual(['did 2', 'did 3']);
  const later = take(4);
  goes[2]!.end();
  expect(await later).toBe('did 4');
});

it.each([
  ['at most the maximum number of tasks', [1, 1, 1, 1], [[1, 1, 1], [1]]],
  ['at most the maximum size', [6, 4, 1], [[6, 4], [1]]],
  ['a larger task alone', [11, 1], [[11], [1]]],
])('batches %s', async (_, tasks, expected) => {
  const { goes, work } = heldWork();
  const take = createBatcher(limits, work);
  const all = [take(0), ...tasks.map((task) => take(task))];

  for (let done = 0; done < goes.length; done++) {
    goes[done]!.end();
    await new Promise(setImmediate);
  }

  await Promise.all(all);
  expect(goes.slice(1).map((go) => go.tasks)).toEqual(expected);
});

it('runs at most the maximum of concurrent batches', () => {
  const { goes, work } = heldWork();
  const take = createBatcher({ ...limits, concurrentMax: 2 }, work);

  for (const task of [1, 2, 3]) void take(task);

  expect(goes.map(({ tasks }) => tasks)).toEqual([[1], [2]]);
});

it('fails each task separately', async () => {
  const { goes, work } = heldWork();
  const take = createBatcher(limits, work);
  const all = settle([take(1), take(7), take(2)]);

  goes[0]!.end();
  await new Promise(setImmediate);
  goes[1]!.end();

  expect(results(await all)).toEqual(['did 1', '7', 'did 2']);
});

it('fails waiting tasks with a failed batch, and runs later ones', async () => {
  const { goes, work } = heldWork();
  const take = createBatcher(limits, work);
  const all = settle([take(1), take(2), take(3)]);

  goes[0]!.fail(new Error('gone'));

  expect(results(await all)).toEqual(['gone', 'gone', 'gone']);
  const later = take(4);
  goes[1]!.end();
  expect(await later).toBe('did 4');
});

it('fails waiting tasks with the error of a lone task if it affects them too', async () => {
  const { goes, work } = heldWork();
  const take = createBatcher({ ...limits, failsWaiting: (error) => (error as Error).message === '7' }, work);
  const all = settle([take(7), take(1), take(2)]);

  goes[0]!.end();

  expect(results(await all)).toEqual(['7', '7', '7']);
  expect(goes).toHaveLength(1);
  const later = take(4);
  goes[1]!.end();
  expect(await later).toBe('did 4');
});

it('limits the waiting tasks', async () => {
  const { goes, work } = heldWork();
  const take = createBatcher(limits, work);
  const all = settle([1, 1, 1, 1, 1, 1, 1].map(take));

  for (let done = 0; done < 3; done++) {
    goes[done]!.end();
    await new Promise(setImmediate);
  }

  expect((await all).map(({ status }) => status)).toEqual([
    ...Array<string>(6).fill('fulfilled'),
    'rejected',
  ]);
});
