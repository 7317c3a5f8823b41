/** Counts requests in progress, including those whose client has disconnected. */
export class InFlight {
  private count = 0;
  private waiting: (() => void)[] = [];

  enter(): void {
    this.count++;
  }

  leave(): void {
    if (--this.count > 0) return;
    for (const resolve of this.waiting.splice(0)) resolve();
  }

  /** Resolves when no request is in progress. */
  ended(): Promise<void> {
    return this.count === 0 ? Promise.resolve() : new Promise((resolve) => this.waiting.push(resolve));
  }
}
