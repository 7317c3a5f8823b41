import type { Command } from 'commander';
import { rebuildSales } from '../../sales/analytics/sales-rollup';
import { enableSalesTriggers, listDisabledTriggers } from '../../sales/analytics/sales-triggers';
import { verifySales, type SalesDifference } from '../../sales/analytics/sales-verification';
import type { Database } from '../../base/db/database';
import { formatId } from '../../base/ids';
import { withDatabase } from './context';
import { printLine, printNote, printTable } from './output';

const printedDifferencesMax = 50;

export function addSales(program: Command): void {
  const sales = program.command('sales').description('verify and rebuild the sales figures');
  sales
    .command('verify')
    .description('compare the sales figures with all orders; exit code 1 when they differ')
    .action(() => withDatabase(({ db }) => verify(db)));
  sales
    .command('rebuild')
    .description('rebuild the sums behind the sales figures from all orders')
    .action(() => withDatabase(({ db }) => rebuild(db)));
}

async function verify(db: Database): Promise<void> {
  const differences = await verifySales(db);
  printDifferences(differences);
  const disabled = await listDisabledTriggers(db);
  if (disabled.length > 0) {
    printNote(
      `Triggers that are not ENABLE ALWAYS: ${disabled.map(({ trigger }) => trigger).join(', ')}. sales rebuild enables them.`,
    );
  }
  if (differences.length > 0) {
    throw new Error('The sales figures differ from the orders: npm run --silent admin -- sales rebuild.');
  }
  printNote('The sales figures agree with the orders.');
}

async function rebuild(db: Database): Promise<void> {
  // Before the rebuild, so that the triggers record all changes from then on.
  const enabled = await enableSalesTriggers(db);
  const differences = await rebuildSales(db);
  printDifferences(differences);
  printNote(`The sums are rebuilt. Wrong before: ${differences.length}.`);
  if (enabled.length > 0) {
    printNote(`Triggers set to ENABLE ALWAYS: ${enabled.map(({ trigger }) => trigger).join(', ')}.`);
  }
}

function printDifferences(differences: SalesDifference[]): void {
  if (differences.length === 0) return;
  printTable([
    [
      'PARTNER',
      'PRODUCT',
      'PERIOD',
      'CURRENCY',
      'UNITS SHOWN',
      'UNITS ORDERED',
      'SALES SHOWN',
      'SALES ORDERED',
    ],
    ...differences
      .slice(0, printedDifferencesMax)
      .map((difference) => [
        difference.partner_name ?? '(all)',
        difference.product_id === null ? '(all)' : formatId('PR', difference.product_id),
        difference.sales_period ?? '(all)',
        difference.currency,
        String(difference.counted_units ?? 0),
        String(difference.actual_units ?? 0),
        difference.counted_sales ?? '0',
        difference.actual_sales ?? '0',
      ]),
  ]);
  const more = differences.length - printedDifferencesMax;
  if (more > 0) printLine(`... and ${more} more`);
}
