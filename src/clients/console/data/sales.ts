import { useQuery } from '@tanstack/react-query';
import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import { byFrequency } from './amounts';
import type { Period } from './period';

export interface SalesQuestion extends Period {
  currency: string;
  partner_name?: string;
}

/** Keeps results while others of the same currency are fetched: amounts of another one would be shown in the new one. */
const keepOf =
  (currency: string | undefined) =>
  <Data>(before: Data | undefined, query: { queryKey: readonly unknown[] } | undefined): Data | undefined =>
    (query?.queryKey[1] as SalesQuestion | undefined)?.currency === currency ? before : undefined;

/** Asks for the sales of each day or month; undefined: for nothing. */
export const useSalesOverTime = (filter: SalesQuestion | undefined, grain: Schemas['Grain']) =>
  useQuery({
    queryKey: ['sales-over-time', filter, grain],
    queryFn: () =>
      bodyOf(client.GET('/analytics/sales-over-time', { params: { query: { ...filter, grain } } })),
    enabled: filter !== undefined,
    placeholderData: keepOf(filter?.currency),
  });

/** Asks for the sales of all partners. */
export const useSalesByPartner = ({ currency, from, to }: SalesQuestion) => {
  const query = { currency, from, to };
  return useQuery({
    queryKey: ['sales-by-partner', query],
    queryFn: () => bodyOf(client.GET('/analytics/sales-by-partner', { params: { query } })),
    placeholderData: keepOf(currency),
  });
};

const bestMax = 20;

/** Asks for the products with the highest sales. */
export const useBestSellers = (filter: SalesQuestion) =>
  useQuery({
    queryKey: ['sales-by-product', filter],
    queryFn: () =>
      bodyOf(client.GET('/analytics/sales-by-product', { params: { query: { ...filter, limit: bestMax } } })),
    placeholderData: keepOf(filter.currency),
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
