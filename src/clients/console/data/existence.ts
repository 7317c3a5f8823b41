import { useQuery } from '@tanstack/react-query';
import { bodyOf, client } from '../api';

const params = { query: { limit: 1 } };
const firstOf = {
  feeds: () => bodyOf(client.GET('/feeds', { params })),
  products: firstProduct,
  orders: () => bodyOf(client.GET('/orders', { params })),
};

/** A product that is not withdrawn is found by an index; the service sorts all of them for the other question. */
async function firstProduct() {
  const active = await bodyOf(client.GET('/products', { params }));
  if (active.items.length > 0) return active;
  const query = { ...params.query, include_withdrawn: true };
  return bodyOf(client.GET('/products', { params: { query } }));
}

/** Whether there is none at all, whatever the filters of a view; false until it is known. */
export const useHasNone = (kind: keyof typeof firstOf): boolean =>
  useQuery({
    queryKey: [kind, 'none'],
    queryFn: async () => (await firstOf[kind]()).items.length === 0,
    staleTime: ({ state }) => (state.data === false ? Infinity : 0),
  }).data ?? false;
