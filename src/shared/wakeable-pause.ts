/** A pause between two looks for work that can be cut short. */
export class WakeablePause {
  private isWoken = false;
  private end: () => void = () => undefined;

  /** Waits for so long, or until it is woken; not at all if it was woken since the last pause. */
  async take(milliseconds: number): Promise<void> {
    if (!this.isWoken) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, milliseconds);
        this.end = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.isWoken = false;
  }

  /** Ends the pause, or the next one. */
  wake(): void {
    this.isWoken = true;
    this.end();
  }
}
