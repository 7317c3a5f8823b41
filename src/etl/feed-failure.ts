/** A reason why a whole run fails; the message is public. A bad row is never one. */
export class FeedFailure extends Error {
  /** @param unavailable - whether it may go away by itself, because something that the run needs is down */
  constructor(
    reason: string,
    readonly unavailable: boolean = false,
    cause?: unknown,
  ) {
    super(reason, { cause });
  }
}
