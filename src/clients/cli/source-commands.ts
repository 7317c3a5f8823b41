import type { Command } from 'commander';
import { cursor, inCallersFolder, nonEmpty, wholeNumber } from './arguments';
import type { Start } from './catalog-commands';
import { addSource, requestSourceDeletion, requestSourceFetch, showFetches, showSources } from './sources';

/** Adds the commands for addresses from which the service fetches feeds. */
export function addSourceCommands(program: Command, start: Start, env: NodeJS.ProcessEnv): void {
  const sources = program.command('sources').description('have the service fetch feeds of a partner');
  const ofSource = (command: string, description: string) =>
    sources
      .command(command)
      .description(description)
      .argument('<NAME>', 'the name of the source', nonEmpty('NAME'))
      .requiredOption('--partner <NAME>', 'the partner of the source');
  sources
    .command('list')
    .description('list sources with their state')
    .option('--partner <NAME>', 'only sources of this partner')
    .option('--limit <N>', 'show N sources at most', wholeNumber('--limit', 1, 100), 20)
    .option(...cursor)
    .action((options: Parameters<typeof showSources>[0], command: Command) =>
      start(showSources(options), command),
    );
  ofSource('add', 'create a source, or replace it')
    .argument('<FILE>', 'a JSON file with the definition, - for standard input', inCallersFolder(env))
    .action((source: string, path: string, options: Parameters<typeof addSource>[2], command: Command) =>
      start(addSource(source, path, options), command),
    );
  ofSource('delete', 'delete a source; its feeds stay').action(
    (source: string, options: Parameters<typeof requestSourceDeletion>[1], command: Command) =>
      start(requestSourceDeletion(source, options), command),
  );
  ofSource('fetch', 'fetch a source now').action(
    (source: string, options: Parameters<typeof requestSourceFetch>[1], command: Command) =>
      start(requestSourceFetch(source, options), command),
  );
  ofSource('history', 'list the fetches of a source, the newest first')
    .option('--limit <N>', 'show N fetches at most', wholeNumber('--limit', 1, 100), 20)
    .option(...cursor)
    .action((source: string, options: Parameters<typeof showFetches>[1], command: Command) =>
      start(showFetches(source, options), command),
    );
}
