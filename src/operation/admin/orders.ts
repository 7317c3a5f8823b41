import { InvalidArgumentError, type Command } from 'commander';
import { eraseReferences, type ErasureSelection } from '../retention/erase-reference';
import { formatId, parseId } from '../../base/ids';
import { withDatabase } from './context';
import { printTable } from './output';

export function addOrders(program: Command): void {
  const orders = program.command('orders').description('erase customer references of orders');
  orders
    .command('erase-reference')
    .description('clear the customer_reference of orders, in stored responses too; this cannot be undone')
    .argument('[ORDERS...]', 'the ids of the orders, such as OR00001', orderArgument)
    .option('--reference <TEXT>', 'instead of ORDERS: all orders with exactly this reference')
    .action(async (orderIds: number[], { reference }: { reference?: string }, command: Command) => {
      const selection = selectionOf(orderIds, reference, command);
      await withDatabase(async ({ db }) => {
        const { orders, replies, unknown } = await eraseReferences(db, selection);
        printTable([
          ['WHAT', 'ERASED'],
          ['orders', String(orders)],
          ['stored responses', String(replies)],
        ]);
        if (unknown.length > 0) {
          const ids = unknown.map((orderId) => formatId('OR', orderId)).join(', ');
          throw new Error(`There are no such orders: ${ids}. Check their ids; the others are erased.`);
        }
      });
    });
}

function orderArgument(text: string, before: number[] = []): number[] {
  const orderId = parseId('OR', text);
  if (orderId === undefined)
    throw new InvalidArgumentError('Wrong ORDERS: each must be one such as OR00001.');
  return [...before, orderId];
}

/** @throws UsageError */
function selectionOf(orderIds: number[], reference: string | undefined, command: Command): ErasureSelection {
  if (reference === undefined && orderIds.length === 0) {
    command.error('Missing argument: ORDERS, or option --reference TEXT');
  }
  if (reference !== undefined && orderIds.length > 0) {
    command.error('Only one of ORDERS and --reference TEXT can be used');
  }
  return reference === undefined ? { orderIds } : { reference };
}
