import type { InfiniteData } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { FailureNotice } from './failure';
import { More, type Pages } from './more';
import { Loading } from './page';

interface Asked<Data> {
  data: Data | undefined;
  error: Error | null;
  refetch: () => unknown;
}

interface QueryOptions<Data> {
  of: Asked<Data>;
  children: (data: Data) => ReactNode;
}

/** Shows what the service returned; until then that it loads; and a failure, with another attempt. */
export function Query<Data>({ of: { data, error, refetch }, children }: QueryOptions<Data>) {
  return (
    <>
      {error && <FailureNotice error={error} retry={() => void refetch()} />}
      {data === undefined ? !error && <Loading /> : children(data)}
    </>
  );
}

interface ListOptions<Item> {
  of: Pages & { data: InfiniteData<{ items: Item[] }> | undefined };
  /** Instead of an empty list. */
  empty: ReactNode;
  children: (items: Item[]) => ReactNode;
}

/** Shows the loaded pages of a list as `Query` does, and a button for the next page. */
export function List<Item>({ of, empty, children }: ListOptions<Item>) {
  const { data } = of;
  const items = data?.pages.flatMap((page) => page.items);
  return (
    <>
      {items ? (items.length > 0 || of.hasNextPage ? children(items) : empty) : !of.error && <Loading />}
      <More list={of} />
    </>
  );
}
