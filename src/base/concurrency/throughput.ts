import { startPeriodicTask, type PeriodicTask } from './periodic-task';
import type { Peer } from './stall-detector';

/** Intervals of the window. */
const intervalsMax = 10;

/** Fewer intervals cannot tell a slow peer from one that pauses. */
const intervalsMin = 5;

/** Measures the throughput of a peer over the last ten intervals with a wait for it. */
export class Throughput {
  private samples: number[] = [];
  private sampling: PeriodicTask | undefined;

  constructor(
    private readonly peer: Peer,
    private readonly sampleMilliseconds: number,
  ) {}

  start(): void {
    this.sampling = startPeriodicTask({
      milliseconds: this.sampleMilliseconds,
      run: () => {
        if (!this.peer.isAwaited()) this.samples = [];
        this.samples.push(this.peer.bytes());
        if (this.samples.length > intervalsMax + 1) this.samples.shift();
      },
      onError: () => undefined,
    });
  }

  /** Returns the throughput; Infinity until this side has waited in five consecutive samples. */
  bytesPerSecond(): number {
    const intervals = this.samples.length - 1;
    if (intervals < intervalsMin) return Infinity;
    return ((this.samples.at(-1)! - this.samples[0]!) / intervals) * (1_000 / this.sampleMilliseconds);
  }

  stop(): void {
    void this.sampling?.stop();
  }
}
