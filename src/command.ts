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

/** A command that was not understood; the message says why. */
export class UsageError extends Error {}

/** Prints rows of cells, the headings first, in columns. */
export function printTable(rows: string[][]): void {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  for (const row of rows) {
    const cells = row.map((cell, column) => cell.padEnd(widths[column]!));
    process.stdout.write(`${cells.join('  ').trimEnd()}\n`);
  }
}
