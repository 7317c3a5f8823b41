import type { Command } from 'commander';
import { cursor, inCallersFolder, nonEmpty, wholeNumber } from './arguments';
import { showFeeds, showPartners } from './feed-lists';
import { requestFormatDeletion, listFormats, saveFormat, showFormat } from './formats';
import { showOrders, showProducts } from './lists';
import type { Work } from './session';

export type Start = (work: Work, command: Command) => Promise<void>;

/** Adds the commands that list what the service has. */
export function addCatalogCommands(program: Command, start: Start): void {
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
    .action((options: Parameters<typeof showProducts>[0], command: Command) =>
      start(showProducts(options), command),
    );
  program
    .command('orders')
    .description('list orders, the newest first')
    .option('--partner <NAME>', 'only orders of this partner')
    .option('--limit <N>', 'show N orders at most', wholeNumber('--limit', 1, 100), 10)
    .option(...cursor)
    .action((options: Parameters<typeof showOrders>[0], command: Command) =>
      start(showOrders(options), command),
    );
  program
    .command('feeds')
    .description('list feeds and the state of their last runs, the newest first')
    .option('--partner <NAME>', 'only feeds of this partner')
    .option(
      '--status <STATUS>',
      'only feeds with this status: processing (before the first run), processed or failed',
    )
    .option('--uploaded-from <TIME>', 'only feeds uploaded at this time or later: 2026-03-01T00:00:00Z')
    .option('--uploaded-to <TIME>', 'only feeds uploaded before this time')
    .option('--limit <N>', 'show N feeds at most', wholeNumber('--limit', 1, 100), 20)
    .option(...cursor)
    .action((options: Parameters<typeof showFeeds>[0], command: Command) =>
      start(showFeeds(options), command),
    );
  program
    .command('partners')
    .description('list partners with their products and last feeds, by name')
    .option('--name <BEGINNING>', 'only partners whose name begins with this text')
    .option('--limit <N>', 'show N partners at most', wholeNumber('--limit', 1, 100), 20)
    .option(...cursor)
    .action((options: Parameters<typeof showPartners>[0], command: Command) =>
      start(showPartners(options), command),
    );
}

export function addFormatCommands(program: Command, start: Start, env: NodeJS.ProcessEnv): void {
  const formats = program.command('formats').description('describe how to read files of a partner');
  const partner = ['--partner <NAME>', 'the partner of the format'] as const;
  const ofFormat = (name: string, description: string) =>
    formats
      .command(name)
      .description(description)
      .argument('<NAME>', 'the name of the format', nonEmpty('NAME'));
  formats
    .command('list')
    .description('list built-in formats and the formats of partners')
    .option('--partner <NAME>', "only this partner's own formats")
    .option('--limit <N>', 'show N formats at most', wholeNumber('--limit', 1, 100), 20)
    .option(...cursor)
    .action((options: Parameters<typeof listFormats>[0], command: Command) =>
      start(listFormats(options), command),
    );
  ofFormat('show', 'show the definition of a format as JSON')
    .option('--partner <NAME>', 'the partner of the format; default: a built-in format')
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
    .action((name: string, options: Parameters<typeof requestFormatDeletion>[1], command: Command) =>
      start(requestFormatDeletion(name, options), command),
    );
}
