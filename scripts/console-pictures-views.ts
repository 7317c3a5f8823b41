import type { Page } from 'playwright-core';
import { send } from './console-pictures-data';

/** A picture of a page. */
export interface View {
  name: string;
  path: string;
  /** What a person does before the picture. */
  open?: (page: Page) => Promise<void>;
}

const press = (name: RegExp) => (page: Page) => page.getByRole('button', { name }).first().click();

const pressInDialog = (name: RegExp) => async (page: Page) => {
  await press(name)(page);
  await page.getByRole('dialog').waitFor();
};

/** The views of an installation without partners. */
export const emptyViews: View[] = [
  'send',
  'partners',
  'feeds',
  'sources',
  'catalog',
  'orders',
  'sales',
  'webhooks',
  'queue',
].map((name) => ({ name: `empty-${name}`, path: `/console/${name}` }));
emptyViews.unshift({ name: 'empty-overview', path: '/console' });

/** The other views of a filled service, with dialogs and failures. */
export async function otherViews(url: string): Promise<View[]> {
  const feedOf = async (partner: string) => {
    const query = new URLSearchParams({ partner_name: partner, limit: '1' }).toString();
    const { items } = await send<{ items: { feed_id: string }[] }>(url, 'GET', `/feeds?${query}`);
    return `/console/feeds/${items[0]!.feed_id}`;
  };
  const sick = await feedOf('Dune Trading');
  const mended = await feedOf('Birch & Sons');
  const changed = await feedOf('Acme Outdoor');
  const products = await send<{ items: { product_id: string }[] }>(
    url,
    'GET',
    '/products?partner_name=Acme+Outdoor&limit=1',
  );
  const orders = await send<{ items: { order_id: string }[] }>(url, 'GET', '/orders?limit=1');
  const shop = '/console/partners/Cedar%20Supplies/sources/shop-export';
  const failing = '/console/partners/Fjord%20Gear/sources/nightly';
  return [
    { name: 'landing', path: '/' },
    { name: 'docs', path: '/docs' },
    { name: 'sign-in', path: '/console', open: press(/^Sign out$/) },
    { name: 'sign-in-refused', path: '/console', open: enterWrongKey },
    { name: 'feeds', path: '/console/feeds' },
    { name: 'feed-plan-changed', path: `${changed}/plan` },
    { name: 'feed-plan-stored', path: `${await feedOf('Gale Boats')}/plan` },
    { name: 'feed-run', path: `${changed}/run` },
    { name: 'feed-run-jump', path: `${sick}/run` },
    { name: 'feed-issues', path: `${mended}/issues` },
    { name: 'feed-runs', path: `${changed}/runs` },
    { name: 'feed-changes', path: `${changed}/runs/1` },
    { name: 'feed-undo', path: `${changed}/runs/1`, open: pressInDialog(/undo/i) },
    { name: 'feed-unknown', path: '/console/feeds/FD99999999/run' },
    { name: 'partners', path: '/console/partners' },
    { name: 'partner-sick', path: '/console/partners/Birch%20%26%20Sons' },
    { name: 'sources', path: '/console/sources' },
    { name: 'source-new', path: '/console/sources/new?partner=Acme+Outdoor' },
    { name: 'source', path: shop },
    { name: 'source-failing', path: failing },
    { name: 'source-edit', path: `${failing}/edit` },
    { name: 'source-test', path: `${shop}/test` },
    { name: 'source-delete', path: failing, open: pressInDialog(/^Delete/) },
    { name: 'format', path: '/console/partners/Nordwind/formats/default' },
    { name: 'catalog-search', path: '/console/catalog?q=tent&partner=Acme+Outdoor' },
    { name: 'catalog-nothing', path: '/console/catalog?q=umbrella' },
    { name: 'product', path: `/console/products/${products.items[0]!.product_id}` },
    { name: 'product-unknown', path: '/console/products/PR99999999' },
    { name: 'skipped', path: '/console/skipped' },
    { name: 'orders', path: '/console/orders' },
    { name: 'order', path: `/console/orders/${orders.items[0]!.order_id}` },
    { name: 'sales', path: '/console/sales' },
    { name: 'webhooks', path: '/console/webhooks' },
    { name: 'webhook-paused', path: '/console/webhooks/2' },
    { name: 'webhook-operator', path: '/console/webhooks/3' },
    { name: 'webhook-unknown', path: '/console/webhooks/99' },
    { name: 'webhook-pause', path: '/console/webhooks/1', open: pressInDialog(/^Pause$/) },
    { name: 'webhook-replay', path: '/console/webhooks/1', open: pressInDialog(/^Send events again$/) },
    { name: 'menu', path: '/console', open: openMenu },
    { name: 'unknown', path: '/console/nowhere' },
  ];
}

async function enterWrongKey(page: Page): Promise<void> {
  await press(/^Sign out$/)(page);
  await page.getByLabel('API key').fill('wrong');
  await press(/^Sign in$/)(page);
  await page.getByRole('alert').waitFor();
}

/** Opens the places, which only a narrow screen hides. */
async function openMenu(page: Page): Promise<void> {
  await page.setViewportSize({ width: 390, height: 844 });
  await press(/^Menu$/)(page);
}
