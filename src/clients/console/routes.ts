/** The addresses of the views, below the console. */
export const routes = {
  home: '/',
  send: '/send',
  workbook: '/send/workbook',
  check: '/send/check',
  feeds: '/feeds',
  feed: '/feeds/:feed/:step?/:run?',
  skipped: '/skipped',
  partners: '/partners',
  partner: '/partners/:partner',
  partnerPlace: '/partners/:partner/to/:place',
  format: '/partners/:partner/formats/:format',
  source: '/partners/:partner/sources/:source/:view?',
  sources: '/sources',
  newSource: '/sources/new',
  catalog: '/catalog',
  product: '/products/:product',
  orders: '/orders',
  order: '/orders/:order',
  sales: '/sales',
  queue: '/queue',
  webhooks: '/webhooks',
  webhook: '/webhooks/:webhook',
} as const;

export type RouteName = keyof typeof routes;

type SegmentNames<Path> = Path extends `${string}/:${infer Name}/${infer Rest}`
  ? Name | SegmentNames<`/${Rest}`>
  : Path extends `${string}/:${infer Name}`
    ? Name
    : never;
type Needed<Name> = Name extends `${string}?` ? never : Name;
type Values<Of extends RouteName> = Record<
  Needed<SegmentNames<(typeof routes)[Of]>> & string,
  string | number
> &
  Record<string, string | number | undefined>;

/**
 * Returns the address of a view.
 * @param values - not encoded: values without a segment in the path become the query; empty ones are omitted
 */
export function addressOf<Of extends RouteName>(route: Of, values: Values<Of>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value) query.set(name, String(value));
  const path = routes[route].replace(/\/:(\w+)\??/g, (_, name: string) => {
    const value = query.get(name) ?? '';
    query.delete(name);
    return value && `/${encodeURIComponent(value)}`;
  });
  return query.size > 0 ? `${path}?${query.toString()}` : path;
}
