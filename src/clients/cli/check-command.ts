import { resolve } from 'node:path';
import { Argument, InvalidArgumentError, Option, type Command } from 'commander';
import { callersFolder, inCallersFolder, wholeNumber, withWorkbookOptions } from './arguments';
import type { CheckOptions } from './check';
import { exitCodes } from './failures';
import type { LocalWork } from './session';

/** Adds the command that checks a file without a service. */
export function addCheckCommand(
  program: Command,
  start: (work: LocalWork, command: Command) => Promise<void>,
  env: NodeJS.ProcessEnv,
): void {
  const resolvePath = (path: string) => resolve(callersFolder(env), path);
  const command = program
    .command('check')
    .description('check a whole file as its upload and a first run do; without a service')
    .addArgument(
      new Argument('<FILE>', 'a CSV file or a workbook (.xlsx), - for standard input').argParser(
        inCallersFolder(env),
      ),
    );
  withWorkbookOptions(command, env)
    .option(
      '--format <FORMAT>',
      'read the file by a built-in format, or by a JSON file with a definition; default: by our column names',
    )
    .addOption(
      new Option('--mode <MODE>', 'the mode of the upload')
        .choices(['upsert', 'replace', 'update'])
        .default('upsert'),
    )
    .option('--max-skipped-percent <N>', 'fail if more than N percent of the rows are skipped', percentage)
    .option(
      '--issues <N>',
      'show the first N issues; default: 10, or 100 as annotations; as JSON, all that a job keeps',
      wholeNumber('--issues', 0, 10_000),
    )
    .option('--strict', `exit with ${exitCodes.rowsSkipped} when rows would be skipped`)
    .addOption(
      new Option('--output-format <FORMAT>', 'github: annotations of GitHub Actions; --json takes precedence')
        .choices(['text', 'github'])
        .default('text'),
    )
    .action((path: string, options: CheckOptions, command: Command) =>
      start(async (session) => {
        // Loaded here: other commands start without what reads files.
        const { checkFile } = await import('./check.js');
        return checkFile(path, options, resolvePath)(session);
      }, command),
    );
}

/** Parses a percentage. @throws InvalidArgumentError */
function percentage(text: string): number {
  const number = Number(text);
  if (/^\d+(?:\.\d+)?$/.test(text) && number <= 100) return number;
  throw new InvalidArgumentError('Wrong --max-skipped-percent: it must be a number from 0 to 100.');
}
