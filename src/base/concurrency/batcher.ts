import { unavailable } from '../errors';

export type Settled<Result> = { result: Result } | { error: unknown };

interface Waiting<Task, Result> {
  task: Task;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

export interface BatchLimits<Task> {
  tasksMax: number;
  /** Maximum size of a batch by `sizeOf`; a single larger task is allowed. */
  sizeMax: number;
  sizeOf: (task: Task) => number;
  concurrentMax: number;
  waitingMax: number;
  /** Whether the waiting tasks fail with this error too: they would wait for the same timeout again. */
  failsWaiting?: (error: unknown) => boolean;
}

/**
 * Executes concurrent tasks in batches, which cost the database hardly more than one task.
 * A task runs immediately, or in the next batch while the maximum number of batches is in progress.
 * @param work - returns the outcome of each task, in their order; its own error fails all tasks of the batch
 * @returns a function that executes one task. It throws the task's error; an error of `work`, or one of the batch before for which
 * `failsWaiting` is true; unavailable when too many tasks wait
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
        const outage = settled.find((one) => 'error' in one && limits.failsWaiting?.(one.error));
        if (outage && 'error' in outage) for (const { reject } of waiting.splice(0)) reject(outage.error);
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
