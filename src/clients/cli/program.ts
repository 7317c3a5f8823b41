import { resolve } from 'node:path';
import { Argument, type Command } from 'commander';
import { info } from '../../../generated/openapi.json';
import { CommandLine } from '../../base/command-line';
import {
  callersFolder,
  collect,
  cursor,
  delimiter,
  inCallersFolder,
  nonEmpty,
  wholeNumber,
  withWorkbookOptions,
} from './arguments';
import { addCatalogCommands, addFormatCommands, type Start } from './catalog-commands';
import { revert, showChanges } from './changes';
import { addCheckCommand } from './check-command';
import { exitCodes } from './failures';
import { inspectFile } from './inspect';
import { mend } from './mend';
import { listIssues } from './lists';
import { cancel, follow, loadStored, upload } from './load';
import { showPlan } from './plan';
import { saveRejects } from './rejects';
import { addSourceCommands } from './source-commands';
import { invocationOf, type GlobalOptions, type LocalWork, type Work } from './session';
import { uploadMended } from './upload-mended';

/** The exit codes, for the help text and the reference page. */
export const exitCodeMeanings: [codes: string, meaning: string][] = [
  [`${exitCodes.done}`, 'done; rows may have been skipped'],
  [
    `${exitCodes.refused}`,
    'the service refused the request, the run failed or would fail, or an upload would be refused; of check: or F.json is no' +
      ' format; of follow: no run was' +
      ' requested, or it was cancelled before its start; of cancel: the run had ended before',
  ],
  [`${exitCodes.usage}`, 'wrong command line or setting, or FILE cannot be read'],
  [
    `${exitCodes.rowsSkipped}`,
    'with --strict: loaded, but rows were skipped, or of check: rows would be skipped; of inspect: questions about the file are not answered',
  ],
  [`${exitCodes.unavailable}`, 'the service was unreachable or overloaded, after all retries'],
  [`${exitCodes.timedOut}`, '--timeout expired; a run continues'],
  ['130, 143', 'ended by Ctrl-C or SIGTERM; a run continues'],
];

/** Makes the partners' command, which passes the work of the named subcommand to `run` or `runLocally`. */
export function feedProgram(
  env: NodeJS.ProcessEnv,
  run: (work: Work, options: GlobalOptions) => Promise<void>,
  runLocally: (work: LocalWork, options: GlobalOptions) => Promise<void>,
): CommandLine {
  const program = new CommandLine(invocationOf(env));
  program
    .description('Upload feeds, load them and see the results.')
    .version(info.version, '--version', 'show the API version of this client')
    .option('--url <URL>', 'address of the service; default: CATALOG_URL, or http://127.0.0.1:8080')
    .option(
      '--key <KEY>',
      'API key; prefer CATALOG_API_KEY: command lines are visible to other users; default for a service on this machine:' +
        ' the key that it generated in DATA_DIR (.data)',
    )
    .option('--json', 'print the result, or the error, as one JSON document on standard output')
    .option('--retries <N>', 'retry a request up to N times', wholeNumber('--retries', 0, 100), 4)
    .option(
      '--timeout <SECONDS>',
      'exit after SECONDS; a run continues',
      wholeNumber('--timeout', 1, 1_000_000),
    )
    .configureHelp({ showGlobalOptions: true })
    .addHelpText(
      'after',
      `\nExit codes:\n${exitCodeMeanings.map((line) => `  ${line.join('  ')}\n`).join('')}`,
    );
  const start = (work: Work, command: Command) => run(work, command.optsWithGlobals());
  addFileCommands(program, start, env);
  const startLocally = (work: LocalWork, command: Command) => runLocally(work, command.optsWithGlobals());
  addCheckCommand(program, startLocally, env);
  addMendCommand(program, startLocally, env);
  addJobCommands(program, start, env);
  addCatalogCommands(program, start);
  addFormatCommands(program, start, env);
  addSourceCommands(program, start, env);
  return program;
}

function addFileCommands(program: Command, start: Start, env: NodeJS.ProcessEnv): void {
  const file = () =>
    new Argument('<FILE>', 'a CSV file or a workbook (.xlsx), - for standard input').argParser(
      inCallersFolder(env),
    );
  const partner = ['--partner <NAME>', 'the partner of the feed'] as const;
  const fileCommand = (name: string, description: string) =>
    withWorkbookOptions(program.command(name).description(description).addArgument(file()), env);
  fileCommand('upload', 'upload a CSV file, load it and show the result')
    .requiredOption(...partner)
    .option('--no-run', 'only store the file')
    .option(...format)
    .option('--mode <MODE>', 'upsert, replace (withdraw what the file lacks) or update (known products only)')
    .option('--collection <NAME>', 'the collection of the catalog to which the products of the file move')
    .option('--max-skipped-percent <N>', 'fail if more than N percent of the rows are skipped')
    .option(
      '--max-price-jump-percent <N>',
      'fail if more than N percent of the changed prices rise or fall by a factor of five or more',
    )
    .option(...maxWithdrawn)
    .option(...allowOlder)
    .option(...strict)
    .option(...firstIssues)
    .action((path: string, options: Parameters<typeof upload>[1], command: Command) =>
      start(upload(path, options), command),
    );
  fileCommand('inspect', 'check a file without storing it: columns, first rows, issues')
    .requiredOption(...partner)
    .option(...format)
    .option('--save <NAME>', 'save the suggested format as a format of the partner')
    .option(
      '--answer <ANSWER>',
      'ABOUT=NUMBER, or ABOUT=NUMBER:VALUE: answer a question about the file by the number of a choice; repeatable',
      collect,
    )
    .option(...firstIssues)
    .action((path: string, options: Parameters<typeof inspectFile>[1], command: Command) =>
      start(inspectFile(path, options), command),
    );
}

function addMendCommand(
  program: Command,
  start: (work: LocalWork, command: Command) => Promise<void>,
  env: NodeJS.ProcessEnv,
): void {
  const mendCommand = program
    .command('mend')
    .description('apply rules to the cells of a CSV file and show the changes; without a service')
    .addArgument(
      new Argument(
        '<FILE>',
        'a CSV file with a header row or a workbook (.xlsx), - for standard input',
      ).argParser(inCallersFolder(env)),
    );
  withWorkbookOptions(mendCommand, env)
    .option('--output <OUT>', 'write the mended file to OUT, which must not exist', (path) =>
      resolve(callersFolder(env), path),
    )
    .option('--trim', 'remove white space at both ends of every cell')
    .option('--decimal-comma <COLUMN>', 'write 1.299,00 as 1299.00 in this column; repeatable', collect)
    .option('--replace <RULE>', 'COLUMN:FROM=TO: write TO for a cell FROM; repeatable', collect)
    .option(
      '--set <RULE>',
      'COLUMN=VALUE: fill empty cells, and add the column if it is missing; repeatable',
      collect,
    )
    .option(
      '--delimiter <DELIMITER>',
      'the delimiter; default: the most frequent one in the header row',
      delimiter,
    )
    .option('--encoding <ENCODING>', 'the encoding of both files', 'utf-8')
    .option('--changes <N>', 'show the first N changes', wholeNumber('--changes', 0, 100_000), 20)
    .action((path: string, options: Parameters<typeof mend>[1], command: Command) =>
      start(mend(path, options), command),
    );
}

function addJobCommands(program: Command, start: Start, env: NodeJS.ProcessEnv): void {
  const ofJob = (name: string, description: string) =>
    program
      .command(name)
      .description(description)
      .argument('<JOB>', 'a validation job: JV00001', nonEmpty('JOB'));
  ofJob('run', 'load the stored file of a job, and show the result')
    .option(...maxWithdrawn)
    .option(...allowOlder)
    .option(...strict)
    .option(...firstIssues)
    .action((jobId: string, options: Parameters<typeof loadStored>[1], command: Command) =>
      start(loadStored(jobId, options), command),
    );
  ofJob('follow', 'follow a run to its end, or show the last result')
    .option(...strict)
    .option(...firstIssues)
    .action((jobId: string, options: Parameters<typeof follow>[1], command: Command) =>
      start(follow(jobId, options), command),
    );
  ofJob('cancel', 'cancel a run: no product changes').action((jobId: string, _options, command: Command) =>
    start(cancel(jobId), command),
  );
  ofJob('plan', 'show the changes of a run (dry run)')
    .option('--limit <N>', 'show N changes at most', wholeNumber('--limit', 0, 1000), 100)
    .option(...cursor)
    .action((jobId: string, options: Parameters<typeof showPlan>[1], command: Command) =>
      start(showPlan(jobId, options), command),
    );
  ofJob('changes', 'list the changes of a run')
    .requiredOption(...runNumber)
    .option('--limit <N>', 'show N changes at most', wholeNumber('--limit', 0, 1000), 100)
    .option(...cursor)
    .action((jobId: string, options: Parameters<typeof showChanges>[1], command: Command) =>
      start(showChanges(jobId, options), command),
    );
  ofJob('revert', 'undo a run: its products get their earlier values back')
    .requiredOption(...runNumber)
    .option('--dry-run', 'show what the revert would do, and change nothing')
    .option('--skip-conflicts', 'leave products alone that were changed since')
    .option('--limit <N>', 'with --dry-run: show N changes at most', wholeNumber('--limit', 0, 1000), 100)
    .option(...cursor)
    .action((jobId: string, options: Parameters<typeof revert>[1], command: Command) =>
      start(revert(jobId, options), command),
    );
  ofJob('issues', 'list the row issues of the last run')
    .option('--code <CODE>', 'only issues with this code')
    .option('--severity <SEVERITY>', 'only errors, or only warnings: error, warning')
    .option('--limit <N>', 'show N issues at most', wholeNumber('--limit', 1, 1000), 100)
    .option(...cursor)
    .action((jobId: string, options: Parameters<typeof listIssues>[1], command: Command) =>
      start(listIssues(jobId, options), command),
    );
  ofJob('rejects', 'download the rows that the last run skipped, as CSV to correct and upload')
    .option('--output <FILE>', 'write to FILE instead of standard output', (path) =>
      resolve(callersFolder(env), path),
    )
    .action((jobId: string, options: Parameters<typeof saveRejects>[1], command: Command) =>
      start(saveRejects(jobId, options), command),
    );
  ofJob(
    'upload-mended',
    'upload the corrected rows of a file of rejects, and show the changes of a run (dry run)',
  )
    .addArgument(
      new Argument('<FILE>', 'the rejects of the last run, corrected, - for standard input').argParser(
        inCallersFolder(env),
      ),
    )
    .option(
      '--encoding <ENCODING>',
      'the encoding of FILE; default: by its byte order mark, else UTF-8 or the encoding of the rejects',
    )
    .option('--limit <N>', 'show N changes at most', wholeNumber('--limit', 0, 1000), 100)
    .action((jobId: string, path: string, options: Parameters<typeof uploadMended>[2], command: Command) =>
      start(uploadMended(jobId, path, options), command),
    );
}

const format: [string, string] = [
  '--format <NAME>',
  "read the file by a built-in format or a format of the partner; default: the partner's format named default",
];
const strict: [string, string] = ['--strict', `exit with ${exitCodes.rowsSkipped} when rows were skipped`];
const firstIssues: [string, string, (text: string) => number, number] = [
  '--issues <N>',
  'show the first N issues',
  wholeNumber('--issues', 0, 1000),
  10,
];
const maxWithdrawn: [string, string, (text: string) => number] = [
  '--max-withdrawn <N>',
  'of a feed with mode replace: withdraw up to N products, instead of the usual limit',
  wholeNumber('--max-withdrawn', 0, 1_000_000_000),
];
const allowOlder: [string, string] = [
  '--allow-older',
  'of a feed with mode replace: load it although a newer one has been loaded',
];
const runNumber: [string, string, (text: string) => number] = [
  '--run <N>',
  'the number of the run: GET /jobs/{job_id}/runs lists them',
  wholeNumber('--run', 1, 1_000_000_000),
];
