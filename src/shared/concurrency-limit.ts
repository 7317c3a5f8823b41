import { unavailable, type ServiceError } from './errors';

/** How a permit is withdrawn for another holder. */
interface Eviction {
  /** Aborts the work. The permit is granted to another holder at once, without a release. */
  evict: () => void;
  /** Throughput of the work, in any unit: the slowest is evicted first. */
  progress: () => number;
}

export interface PermitRequest {
  /** Shares are counted per holder, for example a partner. */
  holder: string;
  /** Holders that count as one for evictions, for example all of one API key; default: the holder alone. */
  group?: string;
  /** Absent: the permit stays until it is released. */
  eviction?: Eviction;
  /** Cancels the wait for a permit, not the permit itself. */
  signal?: AbortSignal;
}

export interface ConcurrencyLimitOptions {
  capacity: number;
  /** Default: half of the capacity, at least one. */
  maxPerHolder?: number;
  /** Default: none; a request without a permit is rejected at once. */
  maxWaiting?: number;
  /** What is limited, for the log. */
  what: string;
}

/** Returns a permit; only the first call counts. */
export type Release = () => void;

interface Permit extends PermitRequest {
  group: string;
  number: number;
}

interface Waiter extends PermitRequest {
  grant: (release: Release) => void;
  refuse: (error: unknown) => void;
}

/**
 * Limits concurrency, with fair shares of holders.
 *
 * - A holder has at most `maxPerHolder` permits.
 * - When all are in use, a request of a holder without permit evicts the slowest work of the largest holder; a group without
 *   permit evicts from the largest group. The only permit of a holder or group is never evicted.
 * - Other requests wait, at most half of `maxWaiting` per holder. Permits go round-robin to the waiting holders. When
 *   `maxWaiting` is reached, a holder without waiter displaces the newest waiter of the holder with most.
 */
export class ConcurrencyLimit {
  private readonly capacity: number;
  private readonly maxPerHolder: number;
  private readonly maxWaiting: number;
  private readonly what: string;
  private readonly permits = new Set<Permit>();
  /** Non-empty queues by holder; the first holder is served next. */
  private readonly queues = new Map<string, Waiter[]>();
  private granted = 0;

  constructor({ capacity, maxPerHolder = half(capacity), maxWaiting = 0, what }: ConcurrencyLimitOptions) {
    this.capacity = capacity;
    this.maxPerHolder = maxPerHolder;
    this.maxWaiting = maxWaiting;
    this.what = what;
  }

  /** Acquires a permit, or waits for one. @throws unavailable when no more may wait; the signal's reason */
  async acquire(request: PermitRequest): Promise<Release> {
    request.signal?.throwIfAborted();
    if (this.permitsOf(request.holder) >= this.maxPerHolder) return this.wait(request);
    if (this.permits.size < this.capacity) return this.grant(request);
    const victim = this.findVictim(request);
    if (!victim) return this.wait(request);
    this.permits.delete(victim);
    const release = this.grant(request);
    victim.eviction!.evict();
    return release;
  }

  /** @throws unavailable where `acquire` would now grant no permit to a holder of the group */
  requireRoom(group: string): void {
    const isAtShare = this.permitsOf(group) >= this.maxPerHolder;
    const isGrantable = this.permits.size < this.capacity || this.findVictim({ holder: group }) !== undefined;
    if (isAtShare || !isGrantable) throw this.refusal();
  }

  /** @throws unavailable when the holder has `maxPerHolder` permits */
  requireShare(holder: string): void {
    if (this.permitsOf(holder) >= this.maxPerHolder) throw this.refusal();
  }

  /** Runs `work` with a permit. @throws as `acquire`; errors of `work` */
  async run<T>(request: PermitRequest, work: () => Promise<T>): Promise<T> {
    const release = await this.acquire(request);
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** Returns the number of permits in use and of waiters. */
  use(): { active: number; waiting: number } {
    return { active: this.permits.size, waiting: this.waiting() };
  }

  private grant({ holder, group = holder, eviction }: PermitRequest): Release {
    const permit: Permit = { holder, group, eviction, number: this.granted++ };
    this.permits.add(permit);
    return () => {
      if (this.permits.delete(permit)) this.serveWaiters();
    };
  }

  private permitsOf(holder: string): number {
    return [...this.permits].filter((permit) => permit.holder === holder).length;
  }

  private findVictim({
    holder,
    group = holder,
  }: Pick<PermitRequest, 'holder' | 'group'>): Permit | undefined {
    const permits = [...this.permits];
    const evictable = permits.filter(({ eviction }) => eviction !== undefined);
    const isNewGroup = !permits.some((permit) => permit.group === group);
    if (!isNewGroup && permits.some((permit) => permit.holder === holder)) return undefined;
    const { size, items } = largestBy(evictable, isNewGroup ? ofGroup : ofHolder);
    return size > 1 ? slowest(largestBy(items, ofHolder).items) : undefined;
  }

  private async wait(request: PermitRequest): Promise<Release> {
    const { holder, signal } = request;
    this.findDisplaced(holder)?.refuse(this.refusal());
    return new Promise<Release>((resolve, reject) => {
      const leave = () => waiter.refuse(signal!.reason);
      const waiter: Waiter = {
        ...request,
        grant: (release) => {
          signal?.removeEventListener('abort', leave);
          resolve(release);
        },
        refuse: (error) => {
          signal?.removeEventListener('abort', leave);
          this.remove(waiter);
          reject(error);
        },
      };
      signal?.addEventListener('abort', leave);
      const queue = this.queues.get(holder);
      if (queue) queue.push(waiter);
      else this.queues.set(holder, [waiter]);
    });
  }

  private refusal(): ServiceError {
    return unavailable(`${this.what}: ${this.permits.size} in progress, ${this.waiting()} waiting`);
  }

  /** @returns the waiter that the holder displaces; undefined while more may wait. @throws unavailable */
  private findDisplaced(holder: string): Waiter | undefined {
    const own = this.queues.get(holder)?.length ?? 0;
    if (this.maxWaiting === 0 || own >= half(this.maxWaiting)) throw this.refusal();
    if (this.waiting() < this.maxWaiting) return undefined;
    const { size, items } = largestBy([...this.queues.values()].flat(), ofHolder);
    if (own > 0 || size < 2) throw this.refusal();
    return items.at(-1);
  }

  private waiting(): number {
    return [...this.queues.values()].flat().length;
  }

  private serveWaiters(): void {
    while (this.permits.size < this.capacity) {
      const holder = [...this.queues.keys()].find((each) => this.permitsOf(each) < this.maxPerHolder);
      if (holder === undefined) return;
      const waiter = this.queues.get(holder)![0]!;
      this.remove(waiter);
      const others = this.queues.get(holder);
      if (others) {
        // Round-robin: the holder moves to the end.
        this.queues.delete(holder);
        this.queues.set(holder, others);
      }
      waiter.grant(this.grant(waiter));
    }
  }

  private remove(waiter: Waiter): void {
    const others = this.queues.get(waiter.holder)?.filter((each) => each !== waiter) ?? [];
    if (others.length > 0) this.queues.set(waiter.holder, others);
    else this.queues.delete(waiter.holder);
  }
}

const ofHolder = ({ holder }: { holder: string }) => holder;
const ofGroup = ({ group }: { group: string }) => group;

function half(count: number): number {
  return Math.max(1, Math.floor(count / 2));
}

/** Returns the items of the most frequent names, in their order, and that frequency. */
function largestBy<T>(items: readonly T[], nameOf: (item: T) => string): { size: number; items: T[] } {
  const sizes = new Map<string, number>();
  for (const item of items) sizes.set(nameOf(item), (sizes.get(nameOf(item)) ?? 0) + 1);
  const size = Math.max(0, ...sizes.values());
  return { size, items: items.filter((item) => sizes.get(nameOf(item)) === size) };
}

/** Returns the slowest; of equally slow ones, the oldest. */
function slowest(permits: readonly Permit[]): Permit | undefined {
  const read = permits.map((permit) => ({ permit, progress: permit.eviction!.progress() }));
  read.sort((a, b) => a.progress - b.progress || a.permit.number - b.permit.number);
  return read[0]?.permit;
}
