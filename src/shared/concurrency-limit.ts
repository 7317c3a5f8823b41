import { unavailable, type ServiceError } from './errors';

/** How a permit can be withdrawn, so that another holder gets its place. */
interface Eviction {
  /** Aborts the work. The place is given to another holder at once: the work does not have to release it. */
  evict: () => void;
  /** How fast the work advances now, in any unit: the slowest is evicted first. */
  progress: () => number;
}

/** A request for a permit. */
export interface PermitRequest {
  /** Shares are counted per holder, for example a partner. */
  holder: string;
  /** Holders that count as one when a place is taken away, for example all of one API key; default: the holder alone. */
  group?: string;
  /** Absent: the permit stays until it is released. */
  eviction?: Eviction;
  /** Cancels the wait for a permit, not the permit itself. */
  signal?: AbortSignal;
}

/** How many permits there are, and how many requests may wait for one. */
export interface ConcurrencyLimitOptions {
  capacity: number;
  /** Default: half of the capacity, at least one. */
  maxPerHolder?: number;
  /** Default: none; a request without a permit is refused at once. */
  maxWaiting?: number;
  /** What is limited, for the log. */
  what: string;
}

/** Returns a permit; only the first call counts. */
export type Release = () => void;

interface Permit extends PermitRequest {
  group: string;
  /** In the order of being granted. */
  number: number;
}

interface Waiter extends PermitRequest {
  grant: (release: Release) => void;
  refuse: (error: unknown) => void;
}

/**
 * Limits how much is done at a time, and shares the places between holders.
 *
 * - A holder has at most `maxPerHolder` permits.
 * - When all are taken and a holder without one asks, the slowest work of the largest holder is evicted. A group without
 *   a permit takes it from the largest group. The only permit of a holder, or of a group, is never taken for another.
 * - What cannot be granted waits, at most half of the waiting places per holder; permits go round-robin to the holders
 *   that wait. When all waiting places are taken and a holder without one asks, the newest waiter of the holder with
 *   most of them is refused.
 */
export class ConcurrencyLimit {
  private readonly capacity: number;
  private readonly maxPerHolder: number;
  private readonly maxWaiting: number;
  private readonly what: string;
  private readonly permits = new Set<Permit>();
  /** By holder; the first holder is served next. No queue is empty. */
  private readonly queues = new Map<string, Waiter[]>();
  private granted = 0;

  constructor({ capacity, maxPerHolder = half(capacity), maxWaiting = 0, what }: ConcurrencyLimitOptions) {
    this.capacity = capacity;
    this.maxPerHolder = maxPerHolder;
    this.maxWaiting = maxWaiting;
    this.what = what;
  }

  /**
   * Takes a permit, or waits for one.
   * @throws unavailable when there is no room; the signal's reason when it is aborted first
   */
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

  /**
   * Refuses where `acquire` would grant no permit now to any holder of the group: a holder alone, or one without a permit.
   * @throws unavailable
   */
  requireRoom(group: string): void {
    const isAtShare = this.permitsOf(group) >= this.maxPerHolder;
    const isGrantable = this.permits.size < this.capacity || this.findVictim({ holder: group }) !== undefined;
    if (isAtShare || !isGrantable) throw this.refusal();
  }

  /** Refuses a holder that has its share of the permits. @throws unavailable */
  requireShare(holder: string): void {
    if (this.permitsOf(holder) >= this.maxPerHolder) throw this.refusal();
  }

  /** Does `work` with a permit. @throws as `acquire`; whatever `work` throws */
  async run<T>(request: PermitRequest, work: () => Promise<T>): Promise<T> {
    const release = await this.acquire(request);
    try {
      return await work();
    } finally {
      release();
    }
  }

  /** The permits in use, and the requests that wait for one. */
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

  /** @returns the waiter whose place the holder would get; undefined when one is free. @throws unavailable */
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
        // The holder is served again after all others.
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

/** The items whose name is the most frequent one, or one of those, in their order; `size`: how many items a name has. */
function largestBy<T>(items: readonly T[], nameOf: (item: T) => string): { size: number; items: T[] } {
  const sizes = new Map<string, number>();
  for (const item of items) sizes.set(nameOf(item), (sizes.get(nameOf(item)) ?? 0) + 1);
  const size = Math.max(0, ...sizes.values());
  return { size, items: items.filter((item) => sizes.get(nameOf(item)) === size) };
}

/** Of equally slow ones, the oldest. */
function slowest(permits: readonly Permit[]): Permit | undefined {
  const read = permits.map((permit) => ({ permit, progress: permit.eviction!.progress() }));
  read.sort((a, b) => a.progress - b.progress || a.permit.number - b.permit.number);
  return read[0]?.permit;
}
