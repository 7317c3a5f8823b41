interface FailureDetails {
  /** Object of the code, shown in parentheses. */
  detail?: string;
  httpStatus?: number;
  /** Whether the next attempt can succeed without a change of the source. */
  isTransient?: boolean;
  /** Whether the service is at fault, so that the failure does not count for the source. */
  isServiceFault?: boolean;
  /** For the log. */
  cause?: unknown;
  /** Minimum wait before the next attempt, from the server. */
  retryAfterSeconds?: number;
}

/** An attempt to fetch a file failed. The message is shown to the partner: it has no secrets. */
export class FetchFailure extends Error {
  readonly httpStatus?: number;
  readonly isTransient: boolean;
  readonly isServiceFault: boolean;
  readonly retryAfterSeconds?: number;

  /** @param sentence - says what to do, if the partner can do something */
  constructor(code: string, sentence: string, { detail, cause, ...more }: FailureDetails = {}) {
    super(`${detail === undefined ? code : `${code} (${detail})`}: ${sentence}`, { cause });
    this.isTransient = more.isTransient ?? false;
    this.isServiceFault = more.isServiceFault ?? false;
    this.httpStatus = more.httpStatus;
    this.retryAfterSeconds = more.retryAfterSeconds;
  }
}
