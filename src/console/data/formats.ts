import { bodyOf, client, type Schemas } from '../api';

/** Fetches the built-in formats, and those of the partner. */
export async function fetchFormats(partner: string): Promise<Schemas['Format'][]> {
  const list = (partner_name?: string) =>
    bodyOf(client.GET('/formats', { params: { query: { partner_name, limit: 100 } } }));
  const [all, own] = await Promise.all([list(), list(partner)]);
  return [...own.items, ...all.items.filter(({ partner_name }) => partner_name === null)];
}
