import { startPeriodicTask, type PeriodicTask } from './periodic-task';

/** Samples of the window: enough to distinguish a stalled transfer from a slow one. */
const samplesMax = 10;

/** Measures the throughput of a transfer over the last ten seconds, with a sample per second. */
export class Throughput {
  private readonly samples: number[] = [];
  private readonly sampling: PeriodicTask;

  /** @param bytes - returns the bytes transferred; Infinity at the end */
  constructor(
    bytes: () => number,
    private readonly sampleMilliseconds = 1_000,
  ) {
    this.sampling = startPeriodicTask({
      milliseconds: sampleMilliseconds,
      run: () => {
        this.samples.push(bytes());
        if (this.samples.length > samplesMax + 1) this.samples.shift();
      },
      onError: () => undefined,
    });
  }

  /** Returns the throughput; Infinity before the second sample, and at the end. */
  bytesPerSecond(): number {
    const intervals = this.samples.length - 1;
    const last = this.samples.at(-1)!;
    if (intervals === 0 || last === Infinity) return Infinity;
    return ((last - this.samples[0]!) / intervals) * (1_000 / this.sampleMilliseconds);
  }

  stop(): void {
    void this.sampling.stop();
  }
}
