import { resolve } from 'node:path';
import { Argument, InvalidArgumentError, Option, type Command } from 'commander';
import document from '../../generated/openapi.json';
import { CommandLine } from '../shared/command-line';
import { revert, showChanges } from './changes';
import { exitCodes } from './failures';
import { deleteFormat, listFormats, saveFormat, showFormat } from './formats';
import { inspectFile } from './inspect';
import { listIssues, listOrders, listProducts } from './lists';
import { cancel, follow, loadStored, upload } from './load';
import { showPlan } from './plan';
import { saveRejects } from './rejects';
import { addSourceCommands } from './source-commands';
import { invocationOf, type GlobalOptions, type Work } from './session';

/** The exit codes, for the help text and the reference page. */
export const exitCodeMeanings: [codes: string, meaning: string][] = [
  [`${exitCodes.done}`, 'done; rows may have been skipped'],
  [
    `${exitCodes.refused}`,
    'the service refused the request, the run failed or would fail, or an upload would be refused; of follow: no run was' +
      ' requested; of cancel: the run had ended before',
  ],
  [`${exitCodes.usage}`, 'wrong command line or setting, or FILE cannot be read'],
  [`${exitCodes.rowsSkipped}`, 'with --strict: loaded, but rows were skipped'],
  [`${exitCodes.unavailable}`, 'the service was unreachable or overloaded, after all retries'],
  [`${exitCodes.timedOut}`, '--timeout expired; a run continues'],
  ['130, 143', 'ended by Ctrl-C or SIGTERM; a run continues'],
];

/** Makes the partners' command, which passes the work of the named subcommand to `run`. */
export function feedProgram(
  env: NodeJS.ProcessEnv,
  run: (work: Work, options: GlobalOptions) => Promise<void>,
): CommandLine {
  const program = new CommandLine(invocationOf(env));
  program
    .description('Upload feeds, load them and see the results.')
    .version(document.info.version, '--version', 'show the API version of this client')
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
  addJobCommands(program, start, env);
  addCatalogCommands(program, start);
  addFormatCommands(program, start, env);
  addSourceCommands(program, {
    start,
    definition: () =>
      new Argument('<FILE>', 'a JSON file with the definition, - for standard input').argParser(
        inCallersFolder(env),
      ),
    limit: (what) =>
      new Option('--limit <N>', `show N ${what} at most`)
        .argParser(wholeNumber('--limit', 1, 100))
        .default(20),
    cursor,
    name: nonEmpty('NAME'),
  });
  return program;
}

type Start = (work: Work, command: Command) => Promise<void>;

function addFileCommands(program: Command, start: Start, env: NodeJS.ProcessEnv): void {
  const file = () =>
    new Argument('<FILE>', 'a CSV file, - for standard input').argParser(inCallersFolder(env));
  const partner = ['--partner <NAME>', 'the partner whose feed it is'] as const;
  program
    .command('upload')
    .description('upload a CSV file, load it and show the result')
    .addArgument(file())
    .requiredOption(...partner)
    .option('--no-run', 'only store the file')
    .option(...format)
    .option('--mode <MODE>', 'upsert, replace (withdraw what the file lacks) or update (known products only)')
    .option('--collection <NAME>', 'the part of the catalog that the file describes')
    .option('--max-skipped-percent <N>', 'fail if more rows than this percentage are skipped')
    .option(...maxWithdrawn)
    .option(...allowOlder)
    .option(...strict)
    .option(...firstIssues)
    .action((path: string, options: Parameters<typeof upload>[1], command: Command) =>
      start(upload(path, options), command),
    );
  program
    .command('inspect')
    .description('check a file without storing it: columns, first rows, issues')
    .addArgument(file())
    .requiredOption(...partner)
    .option(...format)
    .option('--save <NAME>', 'save the suggested format as a format of the partner')
    .option(...firstIssues)
    .action((path: string, options: Parameters<typeof inspectFile>[1], command: Command) =>
      start(inspectFile(path, options), command),
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
  ofJob('plan', 'show what a run would change (dry run)')
    .option('--limit <N>', 'show N changes at most', wholeNumber('--limit', 0, 1000), 100)
    .option(...cursor)
    .action((jobId: string, options: Parameters<typeof showPlan>[1], command: Command) =>
      start(showPlan(jobId, options), command),
    );
  ofJob('changes', 'list what a run changed')
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
}

function addCatalogCommands(program: Command, start: Start): void {
  program
    .command('products')
    .description('list products of the catalog')
    .option('--partner <NAME>', 'only products of this partner')
    .option('--feed <FEED>', 'only products that this feed wrote last: FD00001')
    .option('--sku <SKU>', 'only products with this sku')
    .option('--brand <BRAND>', 'only products of this brand')
    .option('--category <CATEGORY>', 'only products of this category')
    .option('--availability <AVAILABILITY>', 'only products with this availability: in_stock')
    .option('--sort-by <FIELD>', 'product_id, price, product_name, brand, category or created_at')
    .option('--order <ORDER>', 'asc or desc')
    .option('--limit <N>', 'show N products at most', wholeNumber('--limit', 1, 100), 10)
    .option(...cursor)
    .action((options: Parameters<typeof listProducts>[0], command: Command) =>
      start(listProducts(options), command),
    );
  program
    .command('orders')
    .description('list orders, the newest first')
    .option('--partner <NAME>', 'only orders of this partner')
    .option('--limit <N>', 'show N orders at most', wholeNumber('--limit', 1, 100), 10)
    .option(...cursor)
    .action((options: Parameters<typeof listOrders>[0], command: Command) =>
      start(listOrders(options), command),
    );
}

function addFormatCommands(program: Command, start: Start, env: NodeJS.ProcessEnv): void {
  const formats = program.command('formats').description('describe how to read files of a partner');
  const partner = ['--partner <NAME>', 'the partner whose format it is'] as const;
  const ofFormat = (name: string, description: string) =>
    formats
      .command(name)
      .description(description)
      .argument('<NAME>', 'the name of the format', nonEmpty('NAME'));
  formats
    .command('list')
    .description('list the built-in formats and those of partners')
    .option('--partner <NAME>', "only this partner's own formats")
    .option('--limit <N>', 'show N formats at most', wholeNumber('--limit', 1, 100), 20)
    .option(...cursor)
    .action((options: Parameters<typeof listFormats>[0], command: Command) =>
      start(listFormats(options), command),
    );
  ofFormat('show', 'show the definition of a format as JSON')
    .option('--partner <NAME>', 'the partner whose format it is; default: a built-in format')
    .action((name: string, options: Parameters<typeof showFormat>[1], command: Command) =>
      start(showFormat(name, options), command),
    );
  ofFormat('save', 'create a format, or replace it')
    .argument('<FILE>', 'a JSON file with the definition, - for standard input', inCallersFolder(env))
    .requiredOption(...partner)
    .action((name: string, path: string, options: Parameters<typeof saveFormat>[2], command: Command) =>
      start(saveFormat(name, path, options), command),
    );
  ofFormat('delete', 'delete a format; feeds keep the definition that they were uploaded with')
    .requiredOption(...partner)
    .action((name: string, options: Parameters<typeof deleteFormat>[1], command: Command) =>
      start(deleteFormat(name, options), command),
    );
}

const format: [string, string] = [
  '--format <NAME>',
  "read the file by a built-in format, or by one of the partner; default: the partner's format named default",
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
const cursor: [string, string] = ['--cursor <CURSOR>', 'continue after the last page'];

function wholeNumber(option: string, min: number, max: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= min && number <= max) return number;
    throw new InvalidArgumentError(`Wrong ${option}: it must be a whole number from ${min} to ${max}.`);
  };
}

function nonEmpty(name: string): (text: string) => string {
  return (text) => {
    if (text) return text;
    throw new InvalidArgumentError(`Wrong ${name}: it must not be empty.`);
  };
}

/** Resolves a path; `-` is standard input. */
const inCallersFolder = (env: NodeJS.ProcessEnv) => (path: string) =>
  path === '-' ? path : resolve(callersFolder(env), path);

/** npm runs scripts in the folder of the project; `INIT_CWD` is the folder of its caller. */
function callersFolder(env: NodeJS.ProcessEnv): string {
  return (env.npm_lifecycle_event === 'feed' && env.INIT_CWD) || '.';
}
