import { unavailable, type ServiceError } from '../errors';

/** How a permit is withdrawn for a waiter. */
interface Eviction {
  /** Aborts the work. The permit is granted to the waiter at once, without a release. */
  evict: () => void;
  /** Bytes per second; Infinity while unknown, or while the peer does not determine it. */
  bytesPerSecond: () => number;
}

export interface PermitRequest {
  /** Shares are counted per holder, for example a partner. */
  holder: string;
  /** Holders that count together for order and evictions, for example all of one API key; default: the holder alone. */
  group?: string;
  /** Whether it counts towards `largeMax`. */
  isLarge?: boolean;
  /** Absent: the permit stays until it is released. */
  eviction?: Eviction;
  /** Time already waited elsewhere, which counts as part of the wait; default: 0. */
  waitedMilliseconds?: number;
  /** Returns the reason to stop waiting; undefined to continue. */
  refusal?: () => ServiceError | undefined;
  /** Cancels the wait for a permit, not the permit itself. */
  signal?: AbortSignal;
}

export interface ConcurrencyLimitOptions {
  capacity: number;
  /** Default: half of the capacity, at least one. */
  maxPerHolder?: number;
  /** Maximum number of permits for large work; default: all. */
  largeMax?: number;
  /** Maximum number of permits for large work per holder; default: as for any work. */
  largeMaxPerHolder?: number;
  /** Default: none; a request without a permit is rejected at once. */
  maxWaiting?: number;
  /** Name of the limited resource, for the log. */
  what: string;
}

/** When a permit is withdrawn for a waiter, see `ConcurrencyLimit.makeRoom`. */
export interface EvictionRules {
  /** A longer wait is refused. */
  waitMilliseconds: number;
  /** After this wait, a waiter without a permit takes one from a group or holder with several. */
  patienceMilliseconds: number;
  /** A group whose total throughput is lower makes room for waiters. */
  slowBytesPerSecond: number;
}

/** Returns a permit; only the first call counts. */
export type Release = () => void;

interface Permit extends Pick<PermitRequest, 'holder' | 'eviction'> {
  group: string;
  isLarge: boolean;
}

type EvictablePermit = Permit & { eviction: Eviction };

interface Waiter extends PermitRequest {
  group: string;
  isLarge: boolean;
  /** By `performance.now`. */
  since: number;
  grant: (release: Release) => void;
  refuse: (error: unknown) => void;
}

/**
 * Limits concurrency, with fair shares of holders.
 * - A holder has at most `maxPerHolder` permits, and large work at most `largeMax`. A request without a permit waits, at most half of
 * `maxWaiting` per holder. When `maxWaiting` is reached, a group or holder without a waiter displaces the last waiter of the
 * one with the most.
 * - Permits go round-robin to the groups that wait, and within a group to its holders.
 */
export class ConcurrencyLimit {
  private readonly capacity: number;
  private readonly maxPerHolder: number;
  private readonly largeMax: number;
  private readonly largeMaxPerHolder: number;
  private readonly maxWaiting: number;
  private readonly what: string;
  /** In the order of their grants. */
  private readonly permits = new Set<Permit>();
  /** Non-empty queues by holder; within a group, the first one is served next. */
  private readonly queues = new Map<string, Waiter[]>();
  /** The groups that wait; the first one is served next. */
  private readonly groups = new Set<string>();

  constructor({
    capacity,
    maxPerHolder = half(capacity),
    largeMax = capacity,
    largeMaxPerHolder = maxPerHolder,
    maxWaiting = 0,
    what,
  }: ConcurrencyLimitOptions) {
    this.capacity = capacity;
    this.maxPerHolder = maxPerHolder;
    this.largeMax = largeMax;
    this.largeMaxPerHolder = largeMaxPerHolder;
    this.maxWaiting = maxWaiting;
    this.what = what;
  }

  /** Acquires a permit, or waits for one. @throws unavailable when no more may wait; the signal's reason; a `refusal` */
  async acquire(request: PermitRequest): Promise<Release> {
    request.signal?.throwIfAborted();
    const { holder, group = holder, isLarge = false } = request;
    const asked = { ...request, group, isLarge };
    return this.isFree(asked) ? this.grant(asked) : this.wait(asked);
  }

  /**
   * Makes room for waiters; call it repeatedly while there are some. Waiters with a `refusal` are refused.
   * For each other waiter below its share, one permit is withdrawn:
   * - from the slowest work of another holder, if its whole group is below `slowBytesPerSecond`: parallel work of one client shares its
   * line;
   * - or else, after `patienceMilliseconds`, for a group or holder without a permit: from the slowest work of the one with the most
   * permits, at least two. A group with a permit takes none from a group with no more permits.
   */
  makeRoom(rules: EvictionRules): void {
    const now = performance.now();
    for (const waiter of this.waiters()) {
      const isLate = now - waiter.since >= rules.waitMilliseconds;
      const refusal = waiter.refusal?.() ?? (isLate ? this.refusal() : undefined);
      if (refusal) waiter.refuse(refusal);
    }
    for (;;) {
      // An eviction can free more than its waiter needs: the share of the evicted holder.
      this.serveWaiters();
      const next = this.findVictim(rules);
      if (!next) return;
      this.permits.delete(next.victim);
      this.serve(next.waiter);
      next.victim.eviction.evict();
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

  private isFree(request: Pick<Waiter, 'holder' | 'isLarge'>): boolean {
    return this.permits.size < this.capacity && !this.isLargeFull(request) && !this.isAtShare(request);
  }

  private isLargeFull({ isLarge }: Pick<Waiter, 'isLarge'>): boolean {
    return isLarge && [...this.permits].filter((permit) => permit.isLarge).length >= this.largeMax;
  }

  private isAtShare({ holder, isLarge }: Pick<Waiter, 'holder' | 'isLarge'>): boolean {
    const own = this.permitsOf(holder);
    const large = own.filter((permit) => permit.isLarge).length;
    return own.length >= this.maxPerHolder || (isLarge && large >= this.largeMaxPerHolder);
  }

  private permitsOf(name: string, nameOf = ofHolder): Permit[] {
    return [...this.permits].filter((permit) => nameOf(permit) === name);
  }

  private grant({ holder, group, isLarge, eviction }: Permit): Release {
    const permit: Permit = { holder, group, isLarge, eviction };
    this.permits.add(permit);
    return () => {
      if (this.permits.delete(permit)) this.serveWaiters();
    };
  }

  /** Finds the first waiter for which a permit can be withdrawn, and that permit. */
  private findVictim({ patienceMilliseconds, slowBytesPerSecond }: EvictionRules) {
    for (const waiter of this.inOrder()) {
      if (this.isAtShare(waiter)) continue;
      const isLargeFull = this.isLargeFull(waiter);
      const evictable = [...this.permits]
        .filter(isEvictable)
        .filter(({ isLarge }) => isLarge || !isLargeFull);
      const slow = evictable.filter(
        ({ holder, group }) => holder !== waiter.holder && this.speedOf(group) < slowBytesPerSecond,
      );
      const isPatient = performance.now() - waiter.since >= patienceMilliseconds;
      const victim = slowest(slow) ?? (isPatient ? this.excessFor(waiter, evictable) : undefined);
      if (victim) return { waiter, victim };
    }
    return undefined;
  }

  /** Returns the total throughput of the group, in bytes per second. */
  private speedOf(group: string): number {
    return this.permitsOf(group, ofGroup).reduce(
      (sum, { eviction }) => sum + (eviction?.bytesPerSecond() ?? Infinity),
      0,
    );
  }

  private excessFor(
    { holder, group }: Waiter,
    evictable: readonly EvictablePermit[],
  ): EvictablePermit | undefined {
    const own = this.permitsOf(group, ofGroup).length;
    if (own > 0 && this.permitsOf(holder).length > 0) return undefined;
    const others = evictable.filter(
      (permit) => permit.group === group || this.permitsOf(permit.group, ofGroup).length > own,
    );
    const { size, items } = largestBy(others, own === 0 ? ofGroup : ofHolder);
    return size > 1 ? slowest(largestBy(items, ofHolder).items) : undefined;
  }

  private async wait(request: Pick<Waiter, 'group' | 'isLarge'> & PermitRequest): Promise<Release> {
    const { holder, signal, waitedMilliseconds = 0 } = request;
    this.findDisplaced(request)?.refuse(this.refusal());
    return new Promise<Release>((resolve, reject) => {
      const leave = () => waiter.refuse(signal!.reason);
      const waiter: Waiter = {
        ...request,
        since: performance.now() - waitedMilliseconds,
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
      this.groups.add(waiter.group);
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

  /** Returns the waiters, the next one to be served first. */
  private inOrder(): Waiter[] {
    const queues = [...this.queues.values()];
    return [...this.groups].flatMap((group) => queues.filter(([first]) => first!.group === group).flat());
  }

  private serveWaiters(): void {
    for (;;) {
      const next = this.inOrder().find((waiter) => this.isFree(waiter));
      if (!next) return;
      this.serve(next);
    }
  }

  private serve(waiter: Waiter): void {
    const { holder, group } = waiter;
    this.remove(waiter);
    const others = this.queues.get(holder);
    if (this.queues.delete(holder)) this.queues.set(holder, others!);
    if (this.groups.delete(group)) this.groups.add(group);
    waiter.grant(this.grant(waiter));
  }

  private remove(waiter: Waiter): void {
    const { holder, group } = waiter;
    const others = this.queues.get(holder)?.filter((each) => each !== waiter) ?? [];
    if (others.length > 0) this.queues.set(holder, others);
    else this.queues.delete(holder);
    if (!this.waiters().some((each) => each.group === group)) this.groups.delete(group);
  }
}

const ofHolder = ({ holder }: { holder: string; group: string }) => holder;
const ofGroup = ({ group }: { holder: string; group: string }) => group;

const isEvictable = (permit: Permit): permit is EvictablePermit => permit.eviction !== undefined;

/** Returns half of a limit, at least one: the default share of a holder. */
export function half(count: number): number {
  return Math.max(1, Math.floor(count / 2));
}

/** Returns the items of the most frequent names, in their order, and that frequency. */
function largestBy<T>(items: readonly T[], nameOf: (item: T) => string): { size: number; items: T[] } {
  const sizes = new Map<string, number>();
  for (const item of items) sizes.set(nameOf(item), (sizes.get(nameOf(item)) ?? 0) + 1);
  const size = Math.max(0, ...sizes.values());
  return { size, items: items.filter((item) => sizes.get(nameOf(item)) === size) };
}

/** Returns the slowest; the first of equally slow ones. */
function slowest(permits: readonly EvictablePermit[]): EvictablePermit | undefined {
  const speeds = permits.map(({ eviction }) => eviction.bytesPerSecond());
  return permits[speeds.indexOf(Math.min(...speeds))];
}
