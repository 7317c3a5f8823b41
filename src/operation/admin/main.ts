import { ConfigError } from '../../base/settings';
import { UsageError, usageExitCode } from '../../base/command-line';
import { interrupted, interruptedExitCode, listenForInterrupt } from './interrupt';
import { adminProgram } from './program';

listenForInterrupt();
adminProgram()
  .runWith(process.argv.slice(2))
  .then(
    (exitCode) => (process.exitCode = exitCode),
    (error: unknown) => {
      process.stderr.write(`${messageOf(interrupted.aborted ? interrupted.reason : error)}\n`);
      if (interrupted.aborted) process.exit(interruptedExitCode);
      process.exitCode = error instanceof UsageError ? usageExitCode : 1;
    },
  );

function messageOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error && !(error instanceof ConfigError)
    ? `${message} (${cause.message})`
    : message;
}
