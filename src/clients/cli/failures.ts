import { usageExitCode } from '../../base/command-line';

/** Exit codes; `--help` lists them. */
export const exitCodes = {
  done: 0,
  /** The service refused the request, or the run failed. */
  refused: 1,
  usage: usageExitCode,
  /** With `--strict`: loaded, but rows were skipped. */
  rowsSkipped: 3,
  /** `inspect`: some doubts about how to read the file are open. */
  open: 3,
  /** The service was unreachable or overloaded, after all retries. */
  unavailable: 4,
  timedOut: 5,
} as const;

export interface FailureDetails {
  status?: number;
  error_code?: string;
  request_id?: string;
  response?: unknown;
  inspection?: unknown;
  /** Faults of a format in a file. */
  errors?: unknown;
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

export class UsageFailure extends Failure {
  constructor(message: string) {
    super(exitCodes.usage, message);
  }
}
