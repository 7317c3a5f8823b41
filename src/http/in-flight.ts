/** Counts requests in progress, including those whose client has disconnected. */
export class InFlight {
  private count = 0;
  private waiting: (() => void)[] = [];

  track<T>(work: Promise<T>): Promise<T> {
    this.count++;
    work.then(this.end, this.end);
    return work;
  }

  /** Resolves when no request is in progress. */
  ended(): Promise<void> {
    return this.count === 0 ? Promise.resolve() : new Promise((resolve) => this.waiting.push(resolve));
  }

  private readonly end = () => {
    if (--this.count > 0) return;
    for (const resolve of this.waiting.splice(0)) resolve();
  };
}
