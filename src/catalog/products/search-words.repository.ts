import { queryRows, type Database } from '../../base/db/database';
import { sql, type Sql } from '../../base/db/sql';
import { invalidShape } from '../../base/errors';

const wordsMax = 8;
const charactersMin = 2;

/**
 * Splits a text into the words to search for, by the function that splits the indexed texts; undefined without any.
 * @throws validation_error for more than 8 words, or one of less than 2 characters
 */
export async function searchWords(db: Database, q: string | undefined): Promise<string[] | undefined> {
  if (q === undefined) return undefined;
  const [row] = await queryRows<{ words: string[] }>(db, sql`select search_words(${q}) as words`, true);
  const { words } = row!;
  const error = (type: string, msg: string) => invalidShape([{ type, loc: ['query', 'q'], msg, input: q }]);
  if (words.length > wordsMax) throw error('too_many_words', `Text should have at most ${wordsMax} words`);
  if (words.some((word) => [...word].length < charactersMin)) {
    throw error('word_too_short', `Each word should have at least ${charactersMin} characters`);
  }
  return words.length > 0 ? words : undefined;
}

/** Returns a `tsquery` for the beginnings of words, which contain only letters and digits. */
const toQuery = (words: readonly string[]) => words.map((word) => `'${word}':*`).join(' & ');

/** Returns the condition of `product_words` with these words. */
export const haveWords = (words: readonly string[]) => sql`words @@ cast(${toQuery(words)} as tsquery)`;

/**
 * Returns the condition that a product has these words, for the rows of a scan. A scalar subquery is evaluated for each row:
 * `exists` may become a join with another order.
 * The names of its columns make `partner_id` and `product_id` refer to the outer query.
 */
export function hasWords(words: readonly string[]): Sql {
  return sql`(
    select ${haveWords(words)}
    from (select partner_id as of_partner, product_id as of_product, words from product_words) as indexed
    where of_partner = partner_id and of_product = product_id
  )`;
}

/** Returns the same condition for a statement that reads all matches: the search index finds them. */
export function isFoundByWords(words: readonly string[]): Sql {
  return sql`(partner_id, product_id) in (
    select partner_id, product_id from product_words where ${haveWords(words)}
  )`;
}

/** Products that have words. */
export interface WordMatches {
  partnerIds: number[];
  productIds: number[];
}

/** Finds the products with these words, by the search index; undefined if there are more than `max`. */
export async function findByWords(
  db: Database,
  words: readonly string[],
  ofPartner: Sql,
  max: number,
): Promise<WordMatches | undefined> {
  const statement = sql`
    select partner_id, product_id from product_words
    where ${haveWords(words)} and ${ofPartner} limit ${max + 1}`;
  const rows = await queryRows<{ partner_id: number; product_id: number }>(db, statement);
  if (rows.length > max) return undefined;
  return {
    partnerIds: rows.map(({ partner_id }) => partner_id),
    productIds: rows.map(({ product_id }) => product_id),
  };
}

/** Returns whether more than `max` products have these words. */
export async function haveMany(
  db: Database,
  words: readonly string[],
  ofPartner: Sql,
  max: number,
): Promise<boolean> {
  const statement = sql`select from product_words where ${haveWords(words)} and ${ofPartner} limit ${max + 1}`;
  return (await queryRows(db, statement)).length > max;
}

/** Returns the condition that a product is one of the matches. The planner reads them by their keys. */
export function isAmong({ partnerIds, productIds }: WordMatches): Sql {
  return sql`(partner_id, product_id) in (
    select * from unnest(cast(${partnerIds} as bigint[]), cast(${productIds} as bigint[]))
  )`;
}
