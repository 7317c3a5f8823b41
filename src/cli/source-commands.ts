import type { Argument, Command, Option } from 'commander';
import { addSource, deleteSource, fetchSource, listFetches, listSources } from './sources';
import type { Work } from './session';

/** What the commands have in common with others. */
interface Shared {
  start: (work: Work, command: Command) => Promise<void>;
  /** Makes the argument of a JSON file with a definition. */
  definition: () => Argument;
  limit: (what: string) => Option;
  cursor: [string, string];
  name: (text: string) => string;
}

/** Adds the commands for addresses from which the service fetches feeds. */
export function addSourceCommands(
  program: Command,
  { start, definition, limit, cursor, name }: Shared,
): void {
  const sources = program.command('sources').description('have the service fetch feeds of a partner');
  const ofSource = (command: string, description: string) =>
    sources
      .command(command)
      .description(description)
      .argument('<NAME>', 'the name of the source', name)
      .requiredOption('--partner <NAME>', 'the partner whose source it is');
  sources
    .command('list')
    .description('list sources with their state')
    .option('--partner <NAME>', 'only sources of this partner')
    .addOption(limit('sources'))
    .option(...cursor)
    .action((options: Parameters<typeof listSources>[0], command: Command) =>
      start(listSources(options), command),
    );
  ofSource('add', 'create a source, or replace it')
    .addArgument(definition())
    .action((source: string, path: string, options: Parameters<typeof addSource>[2], command: Command) =>
      start(addSource(source, path, options), command),
    );
  ofSource('delete', 'delete a source; its feeds stay').action(
    (source: string, options: Parameters<typeof deleteSource>[1], command: Command) =>
      start(deleteSource(source, options), command),
  );
  ofSource('fetch', 'fetch a source now').action(
    (source: string, options: Parameters<typeof fetchSource>[1], command: Command) =>
      start(fetchSource(source, options), command),
  );
  ofSource('history', 'list the fetches of a source, the newest first')
    .addOption(limit('fetches'))
    .option(...cursor)
    .action((source: string, options: Parameters<typeof listFetches>[1], command: Command) =>
      start(listFetches(source, options), command),
    );
}
