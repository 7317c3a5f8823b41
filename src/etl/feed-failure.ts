/** A reason why a whole run fails; the message is public. A bad row is never one. */
export class FeedFailure extends Error {
  constructor(reason: string, cause?: unknown) {
    super(reason, { cause });
  }
}
