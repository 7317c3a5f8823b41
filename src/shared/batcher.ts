import { unavailable } from './errors';

/** What became of one piece of work. */
export type Settled<Result> = { result: Result } | { error: unknown };

interface Waiting<Task, Result> {
  task: Task;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

/** How much is done together. */
export interface TogetherLimits<Task> {
  /** So many pieces in one go, */
  tasksMax: number;
  /** and so much of them by this measure, unless one alone is more. */
  sizeMax: number;
  sizeOf: (task: Task) => number;
  /** So many goes at a time. */
  goesMax: number;
  /** So many may wait. */
  waitingMax: number;
}

/**
 * Does what comes at the same time in one go: what comes alone is done at once, what comes while all goes are taken waits
 * for the next one. In return for that wait, a go costs the database hardly more than a piece.
 * @param work - says for each task, in their order, what became of it; what it throws concerns all of them
 * @returns a function that does one task. It throws what became of it; what `work` throws; unavailable when too many wait,
 *   or when a go failed for which it would have waited: what that one met, it would meet too
 */
export function together<Task, Result>(
  limits: TogetherLimits<Task>,
  work: (tasks: Task[]) => Promise<Settled<Result>[]>,
): (task: Task) => Promise<Result> {
  const waiting: Waiting<Task, Result>[] = [];
  let goes = 0;

  function takeNext(): Waiting<Task, Result>[] {
    let size = 0;
    let count = 0;
    for (; count < Math.min(waiting.length, limits.tasksMax); count++) {
      size += limits.sizeOf(waiting[count]!.task);
      if (size > limits.sizeMax && count > 0) break;
    }
    return waiting.splice(0, count);
  }

  async function go(): Promise<void> {
    goes++;
    while (waiting.length > 0) {
      const taken = takeNext();
      try {
        const settled = await work(taken.map(({ task }) => task));
        taken.forEach(({ resolve, reject }, at) => {
          const one = settled[at]!;
          if ('result' in one) resolve(one.result);
          else reject(one.error);
        });
      } catch (error) {
        for (const { reject } of [...taken, ...waiting.splice(0)]) reject(error);
      }
    }
    goes--;
  }

  return (task) =>
    new Promise((resolve, reject) => {
      if (waiting.length >= limits.waitingMax) {
        reject(unavailable(`${waiting.length} wait`));
        return;
      }
      waiting.push({ task, resolve, reject });
      if (goes < limits.goesMax) void go();
    });
}
