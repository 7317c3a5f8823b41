/** Maximum number of positions: two a second for an hour, the maximum of the lag setting. */
const positionsMax = 7_200;

/**
 * Measures the lag of a replica by WAL positions of the primary and the local clock.
 * The replica alone cannot tell: without writes, the time of its last commit only ages, and a disconnected replica believes that it
 * is up to date. Times are milliseconds of `performance.now()`.
 */
export class LagMeter {
  /** Positions of the primary, each with a time at which it was the latest; oldest first. */
  private marks: { position: number; at: number }[] = [];

  /** Records a position of the primary, read at this time or later. */
  note(position: number, at: number): void {
    // A position decreases only after a restore: later ones belong to another history.
    const past = this.marks.filter((mark) => mark.position <= position);
    this.marks = [...past, { position, at }].slice(-positionsMax);
  }

  /** Returns the time up to which a replica at this position has all writes; -Infinity if unknown. */
  freshAt(replayed: number): number {
    return this.marks.findLast(({ position }) => position <= replayed)?.at ?? -Infinity;
  }
}
