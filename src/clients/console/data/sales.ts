import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import { byFrequency } from './amounts';
import type { Period } from './period';

export interface SalesFilter extends Period {
  currency: string;
  partner_name?: string;
}

/** Asks for the sales of each day or month; undefined: for nothing. */
export const useSalesOverTime = (filter: SalesFilter | undefined, grain: Schemas['Grain']) =>
  useQuery({
    queryKey: ['sales-over-time', filter, grain],
    queryFn: () =>
      bodyOf(client.GET('/analytics/sales-over-time', { params: { query: { ...filter, grain } } })),
    enabled: filter !== undefined,
    placeholderData: keepPreviousData,
  });

/** Asks for the sales of all partners. */
export const useSalesByPartner = ({ currency, from, to }: SalesFilter) => {
  const query = { currency, from, to };
  return useQuery({
    queryKey: ['sales-by-partner', query],
    queryFn: () => bodyOf(client.GET('/analytics/sales-by-partner', { params: { query: { ...query } } })),
    placeholderData: keepPreviousData,
  });
};

/** Sales of a product in one currency; its name is null if it was removed with its partner. */
export interface ProductSales {
  product_id: string;
  partner_name: string;
  sku: string | null;
  product_name: string | null;
  currency: string;
  units_sold: number;
  total_sales: string;
}

const bestMax = 20;

/** Asks for the products with the highest sales. */
export const useBestSellers = (filter: SalesFilter) =>
  useQuery({
    queryKey: ['sales-by-product', filter],
    queryFn: async () => {
      const query = { ...filter, limit: bestMax };
      // The document of the service does not have this path yet.
      const path: string = '/analytics/sales-by-product';
      const sent = client.GET(path as '/analytics/sales-by-partner', { params: { query } });
      return (await bodyOf(sent)) as unknown as { results: ProductSales[] };
    },
    placeholderData: keepPreviousData,
  });

const latestOrders = 50;

/** Asks for the currencies of the latest orders, the most frequent first. */
export const useSoldCurrencies = () =>
  useQuery({
    queryKey: ['sold-currencies'],
    queryFn: async () => {
      const { items } = await bodyOf(client.GET('/orders', { params: { query: { limit: latestOrders } } }));
      return byFrequency(items.map(({ currency }) => currency));
    },
  });
