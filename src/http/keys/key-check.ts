import type { KeyInUse } from '../../base/caller';
import { unauthorized } from '../../base/errors';

/** Interval between two checks of the key of a request in progress; keys are cached as long. */
const recheckMilliseconds = 2_000;

/**
 * Checks the key of a request again while the request is in progress. Ends the request if the key was revoked, or removed with its
 * partner. Only the request's own progress starts a check: a short request costs nothing.
 */
export class KeyCheck implements KeyInUse {
  private checkedAt = performance.now();
  private wasRefused = false;

  /** @param isInUse - throws errors of the database */
  constructor(private readonly isInUse: () => Promise<boolean>) {}

  isGone(): boolean {
    // Without the database, the key counts as in use until the next check.
    if (this.isDue()) this.check().catch(() => undefined);
    return this.wasRefused;
  }

  async requireInUse(): Promise<void> {
    if (this.isDue()) await this.check();
    if (this.wasRefused) throw unauthorized();
  }

  private isDue(): boolean {
    return !this.wasRefused && performance.now() - this.checkedAt >= recheckMilliseconds;
  }

  private async check(): Promise<void> {
    this.checkedAt = performance.now();
    if (!(await this.isInUse())) this.wasRefused = true;
  }
}
