import { usageExitCode } from '../shared/command-line';

/** How the command ends; `--help` lists them. */
export const exitCodes = {
  done: 0,
  /** The service refused the request, or the run failed. */
  refused: 1,
  /** The command line, its settings or its file are wrong. */
  usage: usageExitCode,
  /** With `--strict`: loaded, but rows were skipped. */
  rowsSkipped: 3,
  /** The service was not reached, or had no room, after all retries. */
  unavailable: 4,
  /** `--timeout` is over. */
  timedOut: 5,
} as const;

/** What a service has responded to a request that failed, for `--json`. */
export interface FailureDetails {
  status?: number;
  request_id?: string;
  /** The body, if it is JSON. */
  response?: unknown;
  /** What an inspection of a refused file has found. */
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

/** A setting or a file that cannot be used. */
export class UsageFailure extends Failure {
  constructor(message: string) {
    super(exitCodes.usage, message);
  }
}
