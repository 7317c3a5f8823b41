import type { Command } from 'commander';
import type { Database } from '../../base/db/database';
import { inTransaction } from '../../base/db/transaction';
import { recordChangedProducts } from '../../catalog/changes/changed-products';
import { storedPartnerName } from '../../catalog/partners/stored-partner-name';
import { partnerNameArgument } from './arguments';
import { withDatabase } from './context';
import { printLine } from './output';

export function addProducts(program: Command): void {
  const products = program.command('products').description('record changes of products by SQL');
  products
    .command('changed')
    .description(
      'after changes of products that no trigger has recorded: have the next run compare all rows, index and count the products again',
    )
    .option('--partner <NAME>', 'only this partner; default: all partners', partnerNameArgument)
    .action(({ partner }: { partner?: string }) => withDatabase(({ db }) => recordChanges(db, partner)));
}

/** Records a change of each partner in a separate transaction: each may wait for a run. */
async function recordChanges(db: Database, sentName: string | undefined): Promise<void> {
  const partners = db('partners').orderBy('partner_id');
  const name = sentName === undefined ? undefined : await storedPartnerName(db, sentName);
  if (name !== undefined) void partners.where('partner_name', name);
  const ids = await partners.pluck<number[]>('partner_id');
  if (name !== undefined && ids.length === 0) throw new Error(`Unknown partner: ${name}.`);
  for (const id of ids) await inTransaction(db, 'bulk', (trx) => recordChangedProducts(trx, id));
  printLine(`Partners whose products are compared, indexed and counted again: ${ids.length}.`);
}
