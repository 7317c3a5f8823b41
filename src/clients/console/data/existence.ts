import { useQuery } from '@tanstack/react-query';
import { bodyOf, client } from '../api';

const params = { query: { limit: 1 } };
const firstOf = {
  feeds: () => bodyOf(client.GET('/feeds', { params })),
  products: () =>
    bodyOf(client.GET('/products', { params: { query: { ...params.query, include_withdrawn: true } } })),
  orders: () => bodyOf(client.GET('/orders', { params })),
};

/** Whether there is none at all, whatever the filters of a view; false until it is known. */
export const useHasNone = (kind: keyof typeof firstOf): boolean =>
  useQuery({
    queryKey: [kind, 'none'],
    queryFn: async () => (await firstOf[kind]()).items.length === 0,
    staleTime: ({ state }) => (state.data === false ? Infinity : 0),
  }).data ?? false;
