import type { ApiClient } from './api-client';
import { shared } from './databases';
import type { TestService } from './service';

/** Follows `next_cursor` to the end, optionally from `cursor`. @returns the ids of each page */
export async function walk(
  api: ApiClient,
  path: string,
  idField: 'product_id' | 'order_id' | 'feed_id',
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
    // A cursor that repeats fails here.
    expect(pages.length).toBeLessThan(200);
  } while (cursor !== undefined);
  return pages;
}

/** The expected pages: `ids` in pages of `size`, with the remainder in the last one. */
export function pagesOf(ids: readonly string[], size: number): string[][] {
  const pages: string[][] = [];
  for (let start = 0; start < ids.length; start += size) pages.push(ids.slice(start, start + size));
  return pages;
}

const notAnInteger = {
  type: 'int_parsing',
  msg: 'Input should be a valid integer, unable to parse string as an integer',
};
const tooSmall = {
  type: 'greater_than_equal',
  msg: 'Input should be greater than or equal to 1',
  ctx: { ge: 1 },
};
const tooLarge = {
  type: 'less_than_equal',
  msg: 'Input should be less than or equal to 100',
  ctx: { le: 100 },
};

/** Invalid values of `limit` (not an integer from 1 to 100), each with its error in the 422. */
export const wrongLimits = (
  [
    ['0', tooSmall],
    ['-1', tooSmall],
    ['101', tooLarge],
    ['99999999999999999999', tooLarge],
    ['', notAnInteger],
    [' ', notAnInteger],
    ['ten', notAnInteger],
    ['1e1', notAnInteger],
    ['0x10', notAnInteger],
    [' 5 ', notAnInteger],
    ['5.0', notAnInteger],
    ['5,0', notAnInteger],
    ['5\n', notAnInteger],
    ['NaN', notAnInteger],
    ['Infinity', notAnInteger],
    ['null', notAnInteger],
  ] as const
).map(([limit, entry]) => [limit, { ...entry, loc: ['query', 'limit'], input: limit }] as const);

export const limitTwice = { ...notAnInteger, loc: ['query', 'limit'], input: ['5', '5'] };

/** The error of a filter that contains a NUL character. */
export const holdsNul = (filter: string, input: string) => ({
  type: 'string_pattern_mismatch',
  loc: ['query', filter],
  msg: String.raw`String should match pattern '^[^\u0000]*$'`,
  input,
  ctx: { pattern: String.raw`^[^\u0000]*$` },
});

export const filterTwice = (filter: string) => ({
  type: 'string_type',
  loc: ['query', filter],
  msg: 'Input should be a valid string',
  input: ['a', 'b'],
});

const another = '"0b3f2c7f0ddc0c8d2a3a4ef64b0c4fdd7e7be4d6a21d7cb5c70d3d0a1c7fa0c9"';

/** Tests conditional requests of a path, by default without a key. */
export function describeNotModified(
  path: string,
  service: () => TestService,
  api = () => service().api.withKey(undefined),
): void {
  const get = (ifNoneMatch: string, method = 'GET') =>
    api().send(method, path, { headers: { 'if-none-match': ifNoneMatch } });
  const entityTag = async () => (await service().api.get(path)).headers.get('etag')!;

  describe('304', () => {
    it('is returned without a body if the named copy is current', async () => {
      const tag = await entityTag();

      for (const header of [tag, `${another}, ${tag}`, `W/${tag}`, '*']) {
        for (const method of ['GET', 'HEAD']) {
          const { status, headers, body } = await get(header, method);

          expect({ header, method, status, body }).toEqual({ header, method, status: 304, body: undefined });
          expect(headers.get('etag')).toBe(tag);
          expect(headers.get('cache-control')).toEqual(expect.any(String));
          expect(headers.get('x-request-id')).toEqual(expect.any(String));
          expect(headers.get('content-type')).toBeNull();
          // It would replace the header of the cached copy.
          expect(headers.get('content-security-policy')).toBeNull();
        }
      }
    });

    it('is not returned for any other tag', async () => {
      for (const header of [another, (await entityTag()).slice(1, -1), '']) {
        expect((await get(header)).status).toBe(200);
      }
    });
  });
}

/** A test of closed or new connections. It is skipped with a pooler between service and server, which keeps connections. */
export const itDirectly = shared().pooler ? it.skip : it;

/** A timestamp in a response: UTC, ISO 8601, with milliseconds and `Z`. */
export const aTimestamp: unknown = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
