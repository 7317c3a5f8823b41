/** Maximum number of positions: those of an hour, the maximum of the lag setting, at two a second. */
const positionsMax = 7_200;

/**
 * Measures the lag of a replica by WAL positions of the primary and the local clock.
 *
 * The replica's own information is not enough: without writes, the time of its last commit only ages, and one that is cut off
 * believes to be up to date. Times are milliseconds of `performance.now()`.
 */
export class LagMeter {
  /** Positions of the primary, and a time at which it had no later one; oldest first. */
  private marks: { position: number; at: number }[] = [];

  /** Records a position of the primary, which was read at this time or later. */
  note(position: number, at: number): void {
    // A position decreases only after a restore: later ones are of another history.
    const past = this.marks.filter((mark) => mark.position <= position);
    this.marks = [...past, { position, at }].slice(-positionsMax);
  }

  /** Returns the time up to which a replica at this position has all writes; -Infinity if unknown. */
  freshAt(replayed: number): number {
    return this.marks.findLast(({ position }) => position <= replayed)?.at ?? -Infinity;
  }
}
