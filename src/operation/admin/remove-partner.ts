import { deleteRemovedObjects } from '../retention/prune';
import { countPartnerData, removePartner, type PartnerData } from '../retention/remove-partner';
import { storedPartnerName } from '../../catalog/partners/stored-partner-name';
import { openObjectStore } from '../../base/storage/open-store';
import type { AdminContext } from './context';
import { printLine, printNote, printTable } from './output';

/** Lists the data of a partner; with `apply`, removes all of it except the orders, and its stored files. */
export async function removeNamedPartner(
  { db, config }: AdminContext,
  sentName: string,
  apply: boolean,
): Promise<void> {
  const name = await storedPartnerName(db, sentName);
  const data = await countPartnerData(db, name);
  if (apply) await removePartner(db, name);
  printData(data, apply);
  if (!apply) return printLine('Nothing was changed: this was a preview. --apply removes.');
  const objectStore = await openObjectStore(config);
  try {
    await deleteRemovedObjects({ db, objectStore });
  } catch (error) {
    printNote(
      `The partner is removed. Its stored files are deleted by the next prune: ${(error as Error).message}`,
    );
  } finally {
    objectStore.close();
  }
}

function printData(data: PartnerData, apply: boolean): void {
  const removed = apply ? 'removed' : 'to be removed';
  printTable([
    ['WHAT', 'NUMBER', 'BYTES', ''],
    ['products', String(data.products), '', removed],
    ['versions of products', String(data.product_versions), '', removed],
    ['feeds', String(data.feeds), '', removed],
    ['row issues', String(data.row_issues), '', removed],
    ['raw files', String(data.raw_files), String(data.raw_file_bytes), removed],
    ['formats', String(data.formats), '', removed],
    ['sources', String(data.sources), '', removed],
    ['keys', String(data.keys), '', removed],
    ['webhooks', String(data.webhooks), '', removed],
    ['orders', String(data.orders), '', 'kept'],
  ]);
}
