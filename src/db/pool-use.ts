import type { Database } from './database';

/** The connections of a pool, and who waits for one. */
export interface PoolUse {
  used: number;
  free: number;
  waiting: number;
}

/** What knex's pool (tarn) tells of itself. */
interface Pool {
  numUsed(): number;
  numFree(): number;
  numPendingAcquires(): number;
}

/** How much of a pool is in use right now. */
export function poolUse(db: Database): PoolUse {
  const { pool } = db.client as { pool?: Pool };
  // A pool that was closed is gone.
  if (!pool) return { used: 0, free: 0, waiting: 0 };
  return { used: pool.numUsed(), free: pool.numFree(), waiting: pool.numPendingAcquires() };
}

/** The use of a pool in another thread, as that thread has noted it last. */
export class SharedPoolUse {
  private readonly numbers: Int32Array;

  /** @param memory - of another one, to share it; absent: memory of its own */
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
