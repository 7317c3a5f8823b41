import type { Readable } from 'node:stream';
import { unavailable } from './errors';

/** Room for so many pieces of work at a time. Who comes when it is taken up is told so at once, instead of waiting. */
export class Slots {
  private taken = 0;

  /** @param what - what is done there, for the log */
  constructor(
    private readonly count: number,
    private readonly what: string,
  ) {}

  /**
   * Takes one.
   * @returns gives it back; only the first call counts
   * @throws unavailable when there is none
   */
  take(): () => void {
    if (this.taken >= this.count) throw unavailable(`${this.taken} ${this.what} are at work`);
    this.taken++;
    let isTaken = true;
    return () => {
      if (isTaken) this.taken--;
      isTaken = false;
    };
  }

  /** Does `work` in one. @throws unavailable when there is none; whatever `work` throws */
  async during<T>(work: () => Promise<T>): Promise<T> {
    const giveBack = this.take();
    try {
      return await work();
    } finally {
      giveBack();
    }
  }

  /** Opens a stream that has one until it is closed. @throws unavailable when there is none; whatever `open` throws */
  async whileOpen(open: () => Promise<Readable>): Promise<Readable> {
    const giveBack = this.take();
    try {
      return (await open()).once('close', giveBack);
    } catch (error) {
      giveBack();
      throw error;
    }
  }
}
