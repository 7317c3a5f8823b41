import { usageExitCode } from '../shared/command-line';

/** Exit codes; `--help` lists them. */
export const exitCodes = {
  done: 0,
  /** The service refused the request, or the run failed. */
  refused: 1,
  /** The command line, its settings or its file are wrong. */
  usage: usageExitCode,
  /** With `--strict`: loaded, but rows were skipped. */
  rowsSkipped: 3,
  /** The service was unreachable or overloaded, after all retries. */
  unavailable: 4,
  /** `--timeout` expired. */
  timedOut: 5,
} as const;

/** The response to a failed request, for `--json`. */
export interface FailureDetails {
  status?: number;
  request_id?: string;
  /** The body, if it is JSON. */
  response?: unknown;
  /** The inspection of a refused file. */
  inspection?: unknown;
}

/** Ends the command with a message for standard error. */
export class Failure extends Error {
  constructor(
    readonly exitCode: number,
    message: string,
    readonly details: FailureDetails = {},
  ) {
    super(message);
  }
}

/** An invalid setting or file. */
export class UsageFailure extends Failure {
  constructor(message: string) {
    super(exitCodes.usage, message);
  }
}
