import type { components, paths } from '../../../generated/openapi';
import { exitCodes } from './failures';
import { printableJson, shellWord } from './printable';
import { issueTable } from './report';
import { list } from './service';
import type { Session, Work } from './session';
import { textTable } from './table';

/** The parameters of a list; the service checks the values of options. */
export type QueryOf<P extends keyof paths> = paths[P] extends {
  get: { parameters: { query?: infer Query } };
}
  ? Query
  : never;

export interface PageOptions {
  limit: number;
  cursor?: string;
}

type Product = components['schemas']['Product'];
type Order = components['schemas']['Order'];

interface Page<Item> {
  count: number;
  items: Item[];
  next_cursor?: string;
}

export function listIssues(jobId: string, options: PageOptions & { code?: string; severity?: string }): Work {
  const query = options as QueryOf<'/jobs/{job_id}/issues'>;
  return async (session) => {
    const { service } = session;
    const page = await service.askFor('the request for issues', list, () =>
      service.api.GET('/jobs/{job_id}/issues', { params: { path: { job_id: jobId }, query } }),
    );
    return showPage(session, 'issues', page, issueTable);
  };
}

export function showProducts(
  options: PageOptions & {
    partner?: string;
    feed?: string;
    sku?: string;
    brand?: string;
    category?: string;
    availability?: string;
    sortBy?: string;
    order?: string;
  },
): Work {
  const { partner: partner_name, feed: feed_id, sortBy: sort_by, ...same } = options;
  const query = { partner_name, feed_id, sort_by, ...same } as QueryOf<'/products'>;
  return async (session) => {
    const { service } = session;
    const page = await service.askFor('the request for products', list, () =>
      service.api.GET('/products', { params: { query } }),
    );
    const hasPages = sort_by === undefined || sort_by === 'product_id';
    return showPage(session, 'products', page, productTable, hasPages ? moreText : moreMatchText);
  };
}

export function showOrders({ partner: partner_name, ...page }: PageOptions & { partner?: string }): Work {
  const query = { partner_name, ...page };
  return async (session) => {
    const { service } = session;
    const orders = await service.askFor('the request for orders', list, () =>
      service.api.GET('/orders', { params: { query } }),
    );
    return showPage(session, 'orders', orders, orderTable);
  };
}

/** Shows a page as a table, or as JSON. @param name - of the items, in the plural @returns the exit code */
export function showPage<Item>(
  { json }: Session,
  name: string,
  page: Page<Item>,
  tableOf: (items: Item[]) => string,
  restOf = moreText,
): number {
  if (json) process.stdout.write(`${printableJson(page)}\n`);
  else if (page.count === 0) process.stdout.write(`There are no ${name}.\n`);
  else process.stdout.write(tableOf(page.items) + restOf(page.next_cursor));
  return exitCodes.done;
}

/** Formats the option that shows the next page. */
export const moreText = (cursor: string | undefined) =>
  cursor === undefined ? '' : `\nMore: --cursor ${shellWord(cursor)}\n`;

function productTable(products: readonly Product[]): string {
  return textTable(
    [
      ['product', 12],
      ['partner', 20],
      ['sku', 24],
      ['price', 16],
      ['currency', 8],
      ['availability', 16],
    ],
    'name',
    products.map((product) => [
      product.product_id,
      product.partner_name,
      product.sku ?? '',
      product.price == null ? '' : String(product.price),
      product.currency ?? '',
      product.availability ?? '',
      product.product_name,
    ]),
  );
}

function orderTable(orders: readonly Order[]): string {
  return textTable(
    [
      ['order', 12],
      ['created', 24],
      ['partner', 20],
      ['total', 20],
      ['currency', 8],
      ['reference', 24],
    ],
    'items',
    orders.map((order) => [
      order.order_id,
      order.created_at,
      order.partner_name,
      String(order.total_amount),
      order.currency,
      order.customer_reference ?? '',
      order.items.map(({ quantity, sku }) => `${quantity} x ${sku}`).join(', '),
    ]),
  );
}

/** Says that a list without further pages has more items. */
const moreMatchText = (cursor: string | undefined) =>
  cursor === undefined ? '' : '\nMore products match: add filters, or sort by product_id.\n';
