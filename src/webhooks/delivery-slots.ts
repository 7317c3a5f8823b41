import type { ClaimLimits } from './deliveries.repository';

/** Maximum number of concurrent deliveries of a process that began within the last second. */
export const concurrentDeliveries = 12;

/** Maximum number of concurrent slow deliveries of a process: each is a waiting connection. */
export const concurrentSlowDeliveries = 60;

/** A delivery that takes longer is slow. Most receivers respond within a few round trips. */
export const slowDeliveryMilliseconds = 1_000;

/** Maximum number of remembered endpoints; a forgotten one counts as fast again. */
const endpointsMax = 5_000;

/** A delivery in progress. */
interface Slot {
  endpointId: number;
  startedAt: number;
  isSlow: boolean;
}

/**
 * The slots of a process for deliveries: slow receivers never delay others.
 * A delivery has one of `concurrentDeliveries` for a second. A longer one releases it, and counts among the
 * `concurrentSlowDeliveries`, which it may exceed. After a slow delivery, an endpoint gets its next ones only there.
 */
export class DeliverySlots {
  private readonly taken = new Set<Slot>();
  /** The endpoints in the order of their last delivery, and whether each is slow. */
  private readonly served = new Map<number, boolean>();

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Returns the limits of a claim now; undefined if no slot is free. */
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

  /** Takes a slot for a claimed delivery. @returns function that frees it */
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
