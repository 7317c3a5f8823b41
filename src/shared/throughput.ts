import { startPeriodicTask, type PeriodicTask } from './periodic-task';

/** Over so many samples, a transfer that has stalled is told from one that is slow. */
const samplesMax = 10;

/** Measures how fast a transfer advances: over the last ten seconds, sampled once a second. */
export class Throughput {
  private readonly samples: number[] = [];
  private readonly sampling: PeriodicTask;

  /** @param bytes - how many have been transferred; Infinity when all have */
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

  /** Infinity before the second sample, and when all bytes have been transferred. */
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
