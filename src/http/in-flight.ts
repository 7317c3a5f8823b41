/** Keeps count of requests that are being worked on, whether their client still waits or not. */
export class InFlight {
  private readonly work = new Set<Promise<unknown>>();

  track<T>(promise: Promise<T>): Promise<T> {
    const settled = promise.catch(() => undefined).finally(() => this.work.delete(settled));
    this.work.add(settled);
    return promise;
  }

  /** Resolves when nothing is being worked on. */
  async ended(): Promise<void> {
    while (this.work.size > 0) await Promise.all(this.work);
  }
}
