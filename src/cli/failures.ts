/** How the command ends; docs/reference/command-line.md and `--help` list them. */
export const exitCodes = {
  done: 0,
  /** The service said no, or the run failed. */
  refused: 1,
  /** The command line, its settings or its file are wrong. */
  usage: 2,
  /** With `--strict`: loaded, but rows were skipped. */
  rowsSkipped: 3,
  /** The service was not reached, or had no room, however often it was tried. */
  unavailable: 4,
  /** `--timeout` is over. */
  timedOut: 5,
} as const;

/** Ends the command with a message for standard error. */
export class Failure extends Error {
  constructor(
    readonly exitCode: number,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** A command line, a setting or a file that cannot be used. */
export class UsageFailure extends Failure {
  constructor(message: string) {
    super(exitCodes.usage, message);
  }
}
