import { unavailable, type ServiceError } from './errors';

/** How a permit is withdrawn for a waiter. */
interface Eviction {
  /** Aborts the work. The permit is granted to the waiter at once, without a release. */
  evict: () => void;
  /** Bytes per second; Infinity while that is unknown, or not for the peer to decide. */
  bytesPerSecond: () => number;
}

export interface PermitRequest {
  /** Shares are counted per holder, for example a partner. */
  holder: string;
  /** Holders whose turns and evictions are counted together, for example all of one API key; default: the holder alone. */
  group?: string;
  /** Absent: the permit stays until it is released. */
  eviction?: Eviction;
  /** Whether the requester has gone: then it waits no longer. */
  isGone?: () => boolean;
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

/** When work makes room for waiters, see `ConcurrencyLimit.makeRoom`. */
export interface Turns {
  /** A longer wait is refused. */
  waitMilliseconds: number;
  /** After this wait, a waiter without a permit gets one of those who have several. */
  patienceMilliseconds: number;
  /** Slower work makes room for any waiter. */
  slowBytesPerSecond: number;
}

/** Returns a permit; only the first call counts. */
export type Release = () => void;

interface Permit extends Pick<PermitRequest, 'holder' | 'eviction'> {
  group: string;
}

interface Waiter extends PermitRequest {
  group: string;
  /** By `performance.now`. */
  since: number;
  grant: (release: Release) => void;
  refuse: (error: unknown) => void;
}

/**
 * Limits concurrency, with fair turns.
 *
 * - A holder has at most `maxPerHolder` permits. Who gets none waits, at most half of `maxWaiting` per holder. When `maxWaiting`
 *   is reached, a group or holder without waiter displaces the newest waiter of the one with most.
 * - A permit goes to the waiting group with the fewest permits, in it to the holder with the fewest, and among equals to the one
 *   whose turn is the longest ago.
 */
export class ConcurrencyLimit {
  private readonly capacity: number;
  private readonly maxPerHolder: number;
  private readonly maxWaiting: number;
  private readonly what: string;
  /** In the order of their grants. */
  private readonly permits = new Set<Permit>();
  /** Non-empty queues by holder; of equals, the first holder is served next. */
  private readonly queues = new Map<string, Waiter[]>();

  constructor({ capacity, maxPerHolder = half(capacity), maxWaiting = 0, what }: ConcurrencyLimitOptions) {
    this.capacity = capacity;
    this.maxPerHolder = maxPerHolder;
    this.maxWaiting = maxWaiting;
    this.what = what;
  }

  /** Acquires a permit, or waits for one. @throws unavailable when no more may wait; the signal's reason */
  async acquire(request: PermitRequest): Promise<Release> {
    request.signal?.throwIfAborted();
    return this.isFree(request.holder) ? this.grant(request) : this.wait(request);
  }

  /**
   * Makes room for those that wait; to be called again and again while some do. Who has gone, or waits for too long, is refused.
   * For each other one a permit is withdrawn, if there is one that it precedes:
   *
   * - the slowest below `slowBytesPerSecond`; for a holder at its share, of its own;
   * - after `patienceMilliseconds`, for a group or holder without permit: the slowest of the one with most, and at least two.
   */
  makeRoom(turns: Turns): void {
    const now = performance.now();
    for (const waiter of this.waiters()) {
      if (waiter.isGone?.() || now - waiter.since >= turns.waitMilliseconds) waiter.refuse(this.refusal());
    }
    for (;;) {
      const next = this.findVictim(turns);
      if (!next) return;
      this.permits.delete(next.victim);
      this.serve(next.waiter);
      next.victim.eviction!.evict();
    }
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
    return { active: this.permits.size, waiting: this.waiters().length };
  }

  private isFree(holder: string): boolean {
    return this.permits.size < this.capacity && !this.isAtShare(holder);
  }

  private isAtShare(holder: string): boolean {
    return this.permitsOf(holder).length >= this.maxPerHolder;
  }

  private permitsOf(name: string, nameOf = ofHolder): Permit[] {
    return [...this.permits].filter((permit) => nameOf(permit) === name);
  }

  private grant({ holder, group = holder, eviction }: PermitRequest): Release {
    const permit: Permit = { holder, group, eviction };
    this.permits.add(permit);
    return () => {
      if (this.permits.delete(permit)) this.serveWaiters();
    };
  }

  /** Finds the first waiter for which a permit can be withdrawn, and that permit. */
  private findVictim({ patienceMilliseconds, slowBytesPerSecond }: Turns) {
    for (const [first] of this.inTurn()) {
      const waiter = first!;
      const isPatient = performance.now() - waiter.since >= patienceMilliseconds;
      const slow = this.slowestFor(waiter, slowBytesPerSecond);
      const victim = slow ?? (isPatient ? this.excessFor(waiter) : undefined);
      if (victim) return { waiter, victim };
    }
    return undefined;
  }

  private slowestFor({ holder }: Waiter, slowBytesPerSecond: number): Permit | undefined {
    const permits = this.isAtShare(holder) ? this.permitsOf(holder) : [...this.permits];
    const victim = slowest(permits);
    return victim && victim.eviction!.bytesPerSecond() < slowBytesPerSecond ? victim : undefined;
  }

  private excessFor({ holder, group }: Waiter): Permit | undefined {
    const isNewGroup = this.permitsOf(group, ofGroup).length === 0;
    if (!isNewGroup && this.permitsOf(holder).length > 0) return undefined;
    const evictable = [...this.permits].filter(({ eviction }) => eviction !== undefined);
    const { size, items } = largestBy(evictable, isNewGroup ? ofGroup : ofHolder);
    return size > 1 ? slowest(largestBy(items, ofHolder).items) : undefined;
  }

  private async wait(request: PermitRequest): Promise<Release> {
    const { holder, group = holder, signal } = request;
    this.findDisplaced({ holder, group })?.refuse(this.refusal());
    return new Promise<Release>((resolve, reject) => {
      const leave = () => waiter.refuse(signal!.reason);
      const waiter: Waiter = {
        ...request,
        group,
        since: performance.now(),
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
    return unavailable(`${this.what}: ${this.permits.size} in progress, ${this.waiters().length} waiting`);
  }

  /** @returns the waiter that the holder displaces; undefined while more may wait. @throws unavailable */
  private findDisplaced({ holder, group }: Pick<Waiter, 'holder' | 'group'>): Waiter | undefined {
    const waiters = this.waiters();
    const own = this.queues.get(holder)?.length ?? 0;
    if (this.maxWaiting === 0 || own >= half(this.maxWaiting)) throw this.refusal();
    if (waiters.length < this.maxWaiting) return undefined;
    const isNewGroup = !waiters.some((waiter) => waiter.group === group);
    const { size, items } = largestBy(waiters, isNewGroup ? ofGroup : ofHolder);
    if ((!isNewGroup && own > 0) || size < 2) throw this.refusal();
    return largestBy(items, ofHolder).items.at(-1);
  }

  private waiters(): Waiter[] {
    return [...this.queues.values()].flat();
  }

  /** Returns the queues in the order of their turns. */
  private inTurn(): Waiter[][] {
    const queues = [...this.queues.values()].map((waiters) => {
      const { holder, group } = waiters[0]!;
      return { waiters, ofGroup: this.permitsOf(group, ofGroup).length, own: this.permitsOf(holder).length };
    });
    return queues.sort((a, b) => a.ofGroup - b.ofGroup || a.own - b.own).map(({ waiters }) => waiters);
  }

  private serveWaiters(): void {
    for (;;) {
      const next = this.inTurn().find(([waiter]) => this.isFree(waiter!.holder));
      if (!next) return;
      this.serve(next[0]!);
    }
  }

  private serve(waiter: Waiter): void {
    const { holder } = waiter;
    this.remove(waiter);
    const others = this.queues.get(holder);
    if (others) {
      // Its next turn comes after those of its equals.
      this.queues.delete(holder);
      this.queues.set(holder, others);
    }
    waiter.grant(this.grant(waiter));
  }

  private remove(waiter: Waiter): void {
    const others = this.queues.get(waiter.holder)?.filter((each) => each !== waiter) ?? [];
    if (others.length > 0) this.queues.set(waiter.holder, others);
    else this.queues.delete(waiter.holder);
  }
}

const ofHolder = ({ holder }: { holder: string; group: string }) => holder;
const ofGroup = ({ group }: { holder: string; group: string }) => group;

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

/** Returns the slowest that can be evicted; of equally slow ones, the first. */
function slowest(permits: readonly Permit[]): Permit | undefined {
  let least: { permit: Permit; speed: number } | undefined;
  for (const permit of permits) {
    if (!permit.eviction) continue;
    const speed = permit.eviction.bytesPerSecond();
    if (!least || speed < least.speed) least = { permit, speed };
  }
  return least?.permit;
}
