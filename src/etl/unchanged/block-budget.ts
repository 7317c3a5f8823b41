/** Counts blocks of memory that the tasks of the ETL thread may have together. */
export class BlockBudget {
  constructor(private free: number) {}

  /** Takes room for one more block. @returns whether there is some */
  take(): boolean {
    if (this.free === 0) return false;
    this.free--;
    return true;
  }

  giveBack(blocks: number): void {
    this.free += blocks;
  }
}
