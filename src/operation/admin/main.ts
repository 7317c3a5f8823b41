import { ConfigError } from '../../base/settings';
import { UsageError, usageExitCode } from '../../base/command-line';
import { adminProgram } from './program';

adminProgram()
  .runWith(process.argv.slice(2))
  .then(
    (exitCode) => (process.exitCode = exitCode),
    (error: unknown) => {
      process.stderr.write(`${messageOf(error)}\n`);
      process.exitCode = error instanceof UsageError ? usageExitCode : 1;
    },
  );

function messageOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error && !(error instanceof ConfigError)
    ? `${message} (${cause.message})`
    : message;
}
