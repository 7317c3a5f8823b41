import type { Command } from 'commander';
import type { Database } from '../db/database';
import { inTransaction } from '../db/transaction';
import { mergePartners, type PartnerMerge } from '../partners/merge-partners';
import { listNamesOutsideNfc } from '../partners/stored-partner-name';
import { partnerNameArgument } from './arguments';
import { withDatabase } from './context';

/** Adds the group of commands that manage partners. */
export function addPartners(program: Command): void {
  const partners = program.command('partners').description('merge partners');
  partners
    .command('merge')
    .description(
      'merge a partner into another one, or rename it; without names, all names that are not in NFC (Unicode) into NFC',
    )
    .argument('[FROM]', 'the partner that is merged, exactly as it is stored', partnerNameArgument)
    .argument('[INTO]', 'the partner that it is merged into', partnerNameArgument)
    .option('--apply', 'do it; else only show what would be done', false)
    .action(
      (
        from: string | undefined,
        into: string | undefined,
        { apply }: { apply: boolean },
        command: Command,
      ) => {
        if (from !== undefined && into === undefined) command.error('Missing argument: INTO');
        return withDatabase(({ db }) => merge(db, from === undefined ? undefined : [from, into!], apply));
      },
    );
}

class Preview extends Error {}

async function merge(db: Database, names: [string, string] | undefined, apply: boolean): Promise<void> {
  const pairs = names
    ? [[names[0], names[1].normalize('NFC')] as const]
    : (await listNamesOutsideNfc(db)).map((name) => [name, name.normalize('NFC')] as const);
  for (const [from, into] of pairs) {
    if (from === into) throw new Error(`FROM and INTO are the same name: ${from}.`);
  }
  const merges: PartnerMerge[] = [];
  try {
    await inTransaction(db, 'bulk', async (trx) => {
      for (const [from, into] of pairs) merges.push(await mergePartners(trx, from, into));
      // Undoes it: the preview has exactly the figures of the merge.
      if (!apply) throw new Preview();
    });
  } catch (error) {
    if (!(error instanceof Preview)) throw error;
  }
  const print = (line: string) => process.stdout.write(`${line}\n`);
  pairs.forEach(([from, into], at) =>
    print(`${describe(from)} into ${describe(into)}: ${figures(merges[at]!)}`),
  );
  if (pairs.length === 0) print('All names of partners are in NFC.');
  else if (!apply) print('Nothing has been changed: --apply does it.');
}

/** Names that look the same differ in their characters. */
function describe(name: string): string {
  const outsideAscii = /[^\x20-\x7e]/gu;
  return `"${name.replace(outsideAscii, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`)}"`;
}

function figures({ feeds, products, duplicates, replaced, orders, keys, webhooks }: PartnerMerge): string {
  return (
    `${feeds} feeds, ${products} products, ${duplicates} products that both have (${replaced} of them get the values of ` +
    `the merged partner's later feed), ${orders} orders, ${keys} keys, ${webhooks} webhooks`
  );
}
