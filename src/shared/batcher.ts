import { unavailable } from './errors';

/** The outcome of one task. */
export type Settled<Result> = { result: Result } | { error: unknown };

interface Waiting<Task, Result> {
  task: Task;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

/** The size of a batch, and how many there are. */
interface BatchLimits<Task> {
  /** Tasks of a batch. */
  tasksMax: number;
  /** Their size by `sizeOf`, unless one task alone is larger. */
  sizeMax: number;
  sizeOf: (task: Task) => number;
  /** Batches in progress. */
  concurrentMax: number;
  /** Tasks that wait for a batch. */
  waitingMax: number;
}

/**
 * Executes concurrent tasks in batches. A single task is executed at once; one that arrives while all batches are in
 * progress waits for the next. In return, a batch costs the database hardly more than a task.
 * @param work - returns the outcome of each task, in their order; what it throws concerns all of them
 * @returns a function that executes one task. It throws the task's error; what `work` throws, also in the batch that the
 *   task would have waited for; unavailable when too many wait
 */
export function createBatcher<Task, Result>(
  limits: BatchLimits<Task>,
  work: (tasks: Task[]) => Promise<Settled<Result>[]>,
): (task: Task) => Promise<Result> {
  const waiting: Waiting<Task, Result>[] = [];
  let running = 0;

  function takeBatch(): Waiting<Task, Result>[] {
    let size = 0;
    let count = 0;
    for (; count < Math.min(waiting.length, limits.tasksMax); count++) {
      size += limits.sizeOf(waiting[count]!.task);
      if (size > limits.sizeMax && count > 0) break;
    }
    return waiting.splice(0, count);
  }

  async function runBatches(): Promise<void> {
    running++;
    while (waiting.length > 0) {
      const batch = takeBatch();
      try {
        const settled = await work(batch.map(({ task }) => task));
        batch.forEach(({ resolve, reject }, at) => {
          const one = settled[at]!;
          if ('result' in one) resolve(one.result);
          else reject(one.error);
        });
      } catch (error) {
        for (const { reject } of [...batch, ...waiting.splice(0)]) reject(error);
      }
    }
    running--;
  }

  return (task) =>
    new Promise((resolve, reject) => {
      if (waiting.length >= limits.waitingMax) {
        reject(unavailable(`${waiting.length} wait`));
        return;
      }
      waiting.push({ task, resolve, reject });
      if (running < limits.concurrentMax) void runBatches();
    });
}
