import { ConfigError } from './config';

/** Runs a command of the operator's to its end. What it throws becomes a readable line on standard error, and exit code 1. */
export function runCommand(command: () => Promise<void>): void {
  command().catch((error: unknown) => {
    const { message, cause } = error as Error;
    const reason = cause instanceof Error && !(error instanceof ConfigError) ? ` (${cause.message})` : '';
    process.stderr.write(`${message}${reason}\n`);
    process.exitCode = 1;
  });
}
