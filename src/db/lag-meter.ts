/** Maximum number of positions: those of an hour, the maximum of the lag setting. */
export const positionsMax = 3_600;

/**
 * Measures the lag of a replica by WAL positions of the primary and the local clock.
 *
 * The replica's own information is not enough: without writes, the time of its last commit only ages, and one that is cut off
 * believes to be up to date. Times are milliseconds of `performance.now()`.
 */
export class LagMeter {
  /** Positions of the primary, oldest first, and the last time at which each was current. */
  private marks: { position: number; at: number }[] = [];

  /** Records a position of the primary, which was read at this time or later. */
  note(position: number, at: number): void {
    const last = this.marks.at(-1);
    if (last?.position === position) last.at = at;
    else {
      // A position decreases only after a restore: the earlier ones are of another history.
      if (last && position < last.position) this.marks = [];
      this.marks.push({ position, at });
      if (this.marks.length > positionsMax) this.marks.shift();
    }
  }

  /** Returns the time up to which a replica at this position has all writes; -Infinity if unknown. */
  freshAt(replayed: number): number {
    while (this.marks.length > 1 && this.marks[1]!.position <= replayed) this.marks.shift();
    const [oldest] = this.marks;
    return oldest && oldest.position <= replayed ? oldest.at : -Infinity;
  }
}
