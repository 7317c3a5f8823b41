/** How many of the primary's positions are remembered: those of an hour, the longest lag that is allowed. */
export const positionsMax = 3_600;

/**
 * Measures how far a replica is behind, by positions in the log of what the database has written, and by our own clock. The
 * replica's word on itself would not do: the time of the last commit that it has replayed says nothing where nobody writes,
 * and one that is cut off from the database takes itself for up to date. Times are milliseconds of `performance.now()`.
 */
export class LagMeter {
  /** Positions at which the database was, oldest first, and the last time at which it was known to be no further. */
  private marks: { position: number; at: number }[] = [];

  /** The database had written up to this position, or further, when it was asked at this time. */
  note(position: number, at: number): void {
    const last = this.marks.at(-1);
    if (last?.position === position) last.at = at;
    else {
      // It never goes back, unless it was restored: what was known of it is of another one.
      if (last && position < last.position) this.marks = [];
      this.marks.push({ position, at });
      if (this.marks.length > positionsMax) this.marks.shift();
    }
  }

  /**
   * Until when a replica has everything that was written, if it has replayed up to this position.
   * @returns -Infinity when that is not known
   */
  freshAt(replayed: number): number {
    while (this.marks.length > 1 && this.marks[1]!.position <= replayed) this.marks.shift();
    const [oldest] = this.marks;
    return oldest && oldest.position <= replayed ? oldest.at : -Infinity;
  }
}
