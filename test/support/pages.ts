import type { ApiClient } from './api-client';

/** Follows `next_cursor` to the end, from `cursor` on if there is one. @returns the ids of each page */
export async function walk(
  api: ApiClient,
  path: string,
  idField: 'product_id' | 'order_id',
  query: Record<string, string>,
  cursor?: string,
): Promise<string[][]> {
  const pages: string[][] = [];
  do {
    const position: Record<string, string> = cursor === undefined ? {} : { cursor };
    const { status, body } = await api.get(
      `${path}?${new URLSearchParams({ ...query, ...position }).toString()}`,
    );
    expect(status).toBe(200);
    const ids = body.items.map((item: Record<string, string>) => item[idField]);
    expect(body.count).toBe(ids.length);
    if ('next_cursor' in body) expect(body.next_cursor).toBe(ids.at(-1));
    pages.push(ids);
    cursor = body.next_cursor;
    // A cursor that goes round in circles fails here.
    expect(pages.length).toBeLessThan(200);
  } while (cursor !== undefined);
  return pages;
}

/** What a walk must give: `ids` in pages of `size`, the last one with the rest. */
export function pagesOf(ids: readonly string[], size: number): string[][] {
  const pages: string[][] = [];
  for (let start = 0; start < ids.length; start += size) pages.push(ids.slice(start, start + size));
  return pages;
}
