import type { Command, Option } from 'commander';
import { adminProgram } from '../../src/operation/admin/program';
import { exitCodeMeanings, feedProgram } from '../../src/clients/cli/program';
import { code, page, table } from './markdown';

export function commandLinePage(): string {
  const feed = feedProgram(
    { npm_lifecycle_event: 'feed' },
    () => Promise.resolve(),
    () => Promise.resolve(),
  );
  return page(
    'Command line',
    'the --help texts of the commands',
    '`make run` and `make dist/.built` build the commands.',
    '## npm run feed',
    'The client of partners. It uses the HTTP API only and needs no settings of the service. `check` and `mend` need no service. `node partner-feed.cjs` and `npx partner-feed` are the same: [Get the command line](../how-to/get-the-command-line.md).' +
      ' [Use the command line](../how-to/use-the-command-line.md) has examples.',
    'Each command has a `--help`; a command is called as `npm run --silent feed -- upload spring.csv --partner NAME`.',
    describeProgram(feed),
    'Every command takes these options, too:',
    table(
      ['Option', 'What it does'],
      feed.options.map((option) => [code(option.flags), describeOption(feed, option)]),
    ),
    'The result goes to standard output, progress and errors to standard error. An error with `--json` is' +
      ' `{"error": {"message", "exit_code", …}}`, with `status`, `error_code`, `request_id` and the `response` of the service where there' +
      ' is one, the `inspection` of a refused file, and the `errors` of a definition in one.',
    table(['Exit code', 'Meaning'], exitCodeMeanings),
    '## npm run admin',
    "The operator's command. It uses the [settings](settings.md) of the service, and works while the service runs or is" +
      ' stopped.',
    'Each command and group has a `--help`; a command is called as `npm run --silent admin -- keys list`.',
    describeProgram(adminProgram()),
    '## npm start, npm run worker, npm run migrate',
    '`npm start` serves the API, and works on the queue unless `QUEUE_WORKER=off`. `npm run worker` works on' +
      ' the queue only. `npm run migrate` brings the schema up to date and exits with 0, or with 1 and a line with the reason.' +
      ' `npm run migrate -- --distribute N` then [distributes the products](../scaling.md#distribute-the-products) (experimental). The others take no options.' +
      ' SIGTERM and SIGINT stop the first two, with exit code 0.',
  );
}

const describeOption = (command: Command, option: Option) =>
  `${capitalize(command.createHelp().optionDescription(option))}.`;

/** Makes a table of a program's visible commands, arguments and options. */
function describeProgram(program: Command): string {
  const rows = leavesOf(program).map(({ names, command }) => {
    const help = command.createHelp();
    const options = help.visibleOptions(command).filter(({ long }) => long !== '--help');
    const usage = [
      ...names,
      ...command.registeredArguments.map((argument) => help.argumentTerm(argument)),
      ...options.map((option) => (option.mandatory ? option.flags : `[${option.flags}]`)),
    ];
    const details = [
      ...command.registeredArguments.map((argument) => [
        help.argumentTerm(argument),
        help.argumentDescription(argument),
      ]),
      ...options.map((option) => [option.flags, help.optionDescription(option)]),
    ].map(([term, description]) => `${code(term!)}: ${description}.`);
    return [code(usage.join(' ')), [`${capitalize(command.description())}.`, ...details].join(' ')];
  });
  return table(['Command', 'What it does'], rows);
}

/** Lists the commands without subcommands, with their full names. */
function leavesOf(command: Command, above: string[] = []): { names: string[]; command: Command }[] {
  const below = command.createHelp().visibleCommands(command);
  return below
    .filter((each) => each.name() !== 'help')
    .flatMap((each) => {
      const names = [...above, each.name()];
      return each.commands.length > 0 ? leavesOf(each, names) : [{ names, command: each }];
    });
}

const capitalize = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
