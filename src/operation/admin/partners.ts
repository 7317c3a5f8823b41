import type { Command } from 'commander';
import type { Database } from '../../base/db/database';
import { inTransaction } from '../../base/db/transaction';
import { mergePartners, type PartnerMerge } from '../../catalog/partners/merge-partners';
import { listNamesOutsideNfc } from '../../catalog/partners/stored-partner-name';
import { partnerNameArgument } from './arguments';
import { withDatabase } from './context';
import { printLine } from './output';
import { removeNamedPartner } from './remove-partner';

export function addPartners(program: Command): void {
  const partners = program.command('partners').description('merge and remove partners');
  partners
    .command('merge')
    .description(
      'merge a partner into another one, or rename it; without names, rename all partners whose names are not in Unicode NFC',
    )
    .argument('[FROM]', 'the partner to merge, exactly as it is stored', partnerNameArgument)
    .argument('[INTO]', 'the partner to merge it into', partnerNameArgument)
    .option('--apply', 'merge; without it, only preview', false)
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
  partners
    .command('remove')
    .description('remove a partner and all of its data but the orders')
    .argument('<NAME>', 'the partner', partnerNameArgument)
    .option('--apply', 'remove; without it, only preview', false)
    .action((name: string, { apply }: { apply: boolean }) =>
      withDatabase((context) => removeNamedPartner(context, name, apply)),
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
      // Rolls back: the preview has the exact figures of the merge.
      if (!apply) throw new Preview();
    });
  } catch (error) {
    if (!(error instanceof Preview)) throw error;
  }
  pairs.forEach(([from, into], at) =>
    printLine(`${describe(from)} into ${describe(into)}: ${figures(merges[at]!)}`),
  );
  if (pairs.length === 0) printLine('All partner names are in NFC.');
  else if (!apply) printLine('Nothing was changed: this was a preview. --apply merges.');
}

/** Quotes a name, with escapes for non-ASCII characters: different names can look the same. */
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
