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
interface Place {
  endpointId: number;
  startedAt: number;
  isSlow: boolean;
}

/**
 * The places of a process for deliveries, so that no number of slow receivers delays the others.
 *
 * A delivery has one of `concurrentDeliveries` for a second. One that takes longer leaves it to others and counts among the
 * `concurrentSlowDeliveries`, which it may exceed. An endpoint whose last delivery was slow gets its next ones only there.
 */
export class DeliveryPlaces {
  private readonly taken = new Set<Place>();
  /** The endpoints in the order of their last turns, and whether each is slow. */
  private readonly turns = new Map<number, boolean>();

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Returns what may be claimed now; undefined if nothing. */
  free(): Required<ClaimLimits> | undefined {
    for (const place of this.taken) {
      if (!place.isSlow && this.hasLasted(place)) {
        place.isSlow = true;
        this.turns.set(place.endpointId, true);
      }
    }
    const slow = [...this.taken].filter(({ isSlow }) => isSlow).length;
    const max = concurrentDeliveries - (this.taken.size - slow);
    const slowMax = Math.max(0, concurrentSlowDeliveries - slow);
    return max + slowMax === 0 ? undefined : { max, slowMax, turns: this.turns };
  }

  /** Takes a place for a claimed delivery. @returns frees it */
  take(endpointId: number): () => void {
    const place = { endpointId, startedAt: this.now(), isSlow: this.turns.get(endpointId) ?? false };
    this.taken.add(place);
    this.turns.delete(endpointId);
    this.turns.set(endpointId, place.isSlow);
    if (this.turns.size > endpointsMax) this.turns.delete(this.turns.keys().next().value!);
    return () => {
      this.taken.delete(place);
      if (this.turns.has(endpointId)) this.turns.set(endpointId, this.hasLasted(place));
    };
  }

  private hasLasted({ startedAt }: Place): boolean {
    return this.now() - startedAt >= slowDeliveryMilliseconds;
  }
}
