export interface PoolUse {
  used: number;
  free: number;
  waiting: number;
}

/** The use of a pool in another thread, in shared memory. */
export class SharedPoolUse {
  private readonly numbers: Int32Array;

  /** @param memory - of another instance; by default new memory */
  constructor(readonly memory = new SharedArrayBuffer(3 * Int32Array.BYTES_PER_ELEMENT)) {
    this.numbers = new Int32Array(memory);
  }

  note({ used, free, waiting }: PoolUse): void {
    this.numbers.set([used, free, waiting]);
  }

  get(): PoolUse {
    const [used, free, waiting] = this.numbers as unknown as [number, number, number];
    return { used, free, waiting };
  }
}
