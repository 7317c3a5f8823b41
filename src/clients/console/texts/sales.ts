import { count, plural } from '../locale';

export const salesTexts = {
  period: {
    label: 'Period',
    names: {
      '': 'All',
      7: '7 days',
      30: '30 days',
      90: '90 days',
      month: 'This month',
      own: 'Own dates',
    },
    first: 'First day (UTC)',
    last: 'Last day (UTC)',
  },
  orders: {
    title: 'Orders',
    one: (order: string) => `Order ${order}`,
    none: 'No order yet',
    noneWay: 'The shop places orders for products of the catalog. For a trial, open a product and place one.',
    noneMatch: 'No order of this partner in this period',
    order: 'Order',
    total: 'Total',
    created: 'Placed',
    items: 'Products',
    others: (others: number) => `and ${count(others)} ${plural(others, { one: 'other', other: 'others' })}`,
    reference: 'Customer reference',
    quantity: 'Quantity',
    unitPrice: 'Unit price',
  },
  sales: {
    title: 'Sales',
    currency: 'Currency',
    overTime: { daily: 'Sales per day', monthly: 'Sales per month' },
    byPartner: 'Revenue by partner',
    best: 'Best sellers',
    product: 'Product',
    removed: (product: string) => `${product}, removed with its partner`,
    noneYet: 'Nothing has been sold yet',
    noneYetWay:
      'Sales are the sums of orders, which the shop places for products of the catalog. For a trial, open a product and place one.',
    none: (currency: string) => `Nothing was sold in ${currency} in this period`,
    noneWay: 'Choose a longer period, another partner or another currency.',
    before: (change: string, days: number) =>
      `${change} to the ${plural(days, { one: 'day', other: `${count(days)} days` })} before`,
    period: 'Period',
    units: 'Units',
    total: 'Sales',
    share: 'Share',
    table: 'The figures',
    download: 'Download as CSV',
  },
};
