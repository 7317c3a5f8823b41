import { count } from '../locale';

export const salesTexts = {
  orders: {
    title: 'Orders',
    none: 'No order yet.',
    noneWay: 'Orders come from the shop, or from the page of a product.',
    order: 'Order',
    total: 'Total',
    created: 'Placed',
    items: 'Products',
    item: (quantity: number, price: string) => `${count(quantity)} × ${price}`,
  },
  sales: {
    title: 'Sales',
    currency: 'Currency',
    grain: 'By',
    grains: { daily: 'Day', monthly: 'Month' },
    overTime: 'Sales over time',
    byPartner: 'Sales by partner',
    share: 'Share of the revenue',
    none: (currency: string) => `Nothing was sold in ${currency}.`,
    period: 'Period',
    units: 'Units',
    total: 'Sales',
    percent: 'Share',
    table: 'The figures',
    download: 'Download as CSV',
  },
};
