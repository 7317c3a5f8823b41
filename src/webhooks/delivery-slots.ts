import type { ClaimLimits } from './deliveries.repository';

/** Concurrent deliveries of a process that have begun within the last second. */
export const concurrentDeliveries = 12;

/** Concurrent slow deliveries of a process: each is a connection that waits. */
export const concurrentSlowDeliveries = 60;

/** A delivery that takes longer is slow. Most receivers respond within a few round trips. */
export const slowDeliveryMilliseconds = 1_000;

/** Endpoints that are remembered; one that is forgotten counts as quick again. */
const endpointsMax = 5_000;

/** A delivery in progress. */
interface Slot {
  endpointId: number;
  startedAt: number;
  isSlow: boolean;
}

/**
 * The slots of a process for deliveries, so that no number of slow receivers delays the others.
 *
 * A delivery has one of `concurrentDeliveries` for a second. One that takes longer leaves it to others and counts among the
 * `concurrentSlowDeliveries`, which it may exceed. An endpoint whose last delivery was slow gets its next ones only there.
 */
export class DeliverySlots {
  private readonly taken = new Set<Slot>();
  /** The endpoints in the order in which they were served, and whether each is slow. */
  private readonly served = new Map<number, boolean>();

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Returns what may be claimed now; undefined if nothing. */
  free(): Required<ClaimLimits> | undefined {
    for (const slot of this.taken) {
      if (!slot.isSlow && this.hasLasted(slot)) {
        slot.isSlow = true;
        this.served.set(slot.endpointId, true);
      }
    }
    const slow = [...this.taken].filter(({ isSlow }) => isSlow).length;
    const max = concurrentDeliveries - (this.taken.size - slow);
    const slowMax = Math.max(0, concurrentSlowDeliveries - slow);
    return max + slowMax === 0 ? undefined : { max, slowMax, served: this.served };
  }

  /** Takes a slot for a claimed delivery. @returns frees it */
  take(endpointId: number): () => void {
    const slot = { endpointId, startedAt: this.now(), isSlow: this.served.get(endpointId) ?? false };
    this.taken.add(slot);
    this.served.delete(endpointId);
    this.served.set(endpointId, slot.isSlow);
    if (this.served.size > endpointsMax) this.served.delete(this.served.keys().next().value!);
    return () => {
      this.taken.delete(slot);
      if (this.served.has(endpointId)) this.served.set(endpointId, this.hasLasted(slot));
    };
  }

  private hasLasted({ startedAt }: Slot): boolean {
    return this.now() - startedAt >= slowDeliveryMilliseconds;
  }
}
