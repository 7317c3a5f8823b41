import { bodyOf, client, type Schemas } from '../api';
import { allItems } from './queries';

/** Fetches the built-in formats, and the partner's. */
export async function fetchFormats(partner: string): Promise<Schemas['Format'][]> {
  const list = (query: { partner_name?: string; cursor?: string }) =>
    bodyOf(client.GET('/formats', { params: { query: { ...query, limit: 100 } } }));
  const [own, all] = await Promise.all([
    allItems((cursor) => list({ partner_name: partner, cursor })),
    // They come first.
    list({}),
  ]);
  return [...own, ...all.items.filter(({ partner_name }) => partner_name === null)];
}
