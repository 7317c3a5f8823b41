import type { Knex } from 'knex';
import type { Database } from '../db/database';
import type { PartnerScope } from '../shared/caller';
import { partnerNotFound } from '../shared/errors';
import { toPage, type Page } from '../shared/pagination';
import { storedPartnerName } from './stored-partner-name';

/** A partner with its numbers. */
export interface PartnerRow {
  partner_id: number;
  partner_name: string;
  /** Active products. */
  products: number;
  feeds: number;
  /** The feed that was uploaded last; null if there is none. */
  last_feed_id: number | null;
  /** When the last completed run ended; null if none has. */
  last_completed_at: Date | null;
}

/** Filter and page of partners; an absent field matches all. */
interface PartnerListing {
  scope: PartnerScope;
  /** The exact name. */
  name?: string;
  /** The beginning of the name, without regard to case. */
  prefix?: string;
  /** A name; it need not exist. */
  after?: string;
  limit: number;
}

/** Finds a partner by its name as sent. @throws partner_not_found when there is none in the scope */
export async function getPartner(db: Database, sentName: string, scope: PartnerScope): Promise<PartnerRow> {
  const name = await nameInScope(db, sentName, scope);
  const [partner] = (await listPartners(db, { scope, name, limit: 1 })).items;
  if (!partner) throw partnerNotFound();
  return partner;
}

/** Finds the number of a partner by its name as sent. @throws partner_not_found when there is none in the scope */
export async function getPartnerId(db: Database, sentName: string, scope: PartnerScope): Promise<number> {
  const name = await nameInScope(db, sentName, scope);
  const partnerId = await findPartnerId(db, name);
  if (partnerId === undefined) throw partnerNotFound();
  return partnerId;
}

/** @throws partner_not_found for another partner than that of the scope */
async function nameInScope(db: Database, sentName: string, scope: PartnerScope): Promise<string> {
  // PostgreSQL has no NUL.
  if (sentName.includes('\0')) throw partnerNotFound();
  const name = await storedPartnerName(db, sentName);
  if (scope !== null && scope !== name) throw partnerNotFound();
  return name;
}

/**
 * Lists partners by name. The numbers are sums of a few rows each, which triggers keep. Partners are few: a prefix is
 * compared with the names in their order, without an index of its own.
 */
export async function listPartners(db: Database, listing: PartnerListing): Promise<Page<PartnerRow>> {
  const { scope, name, prefix, after, limit } = listing;
  const page = db('partners')
    .orderBy('partner_name')
    // One more row shows whether there is a next page.
    .limit(limit + 1)
    .select('partner_id', 'partner_name');
  for (const one of [scope ?? undefined, name]) if (one !== undefined) void page.where('partner_name', one);
  if (after !== undefined) void page.where('partner_name', '>', after);
  if (prefix !== undefined) {
    void page.whereRaw(
      'starts_with(lower(partner_name collate "und-x-icu"), lower(cast(? as text) collate "und-x-icu"))',
      [prefix],
    );
  }
  const { rows } = await db.raw<{ rows: PartnerRow[] }>(`${withNumbersSql('(?)')} order by partner_name`, [
    page,
  ]);
  return toPage(rows, limit, ({ partner_name }) => partner_name);
}

/** Returns a query for partners as `PartnerRow`. @param page - a relation with the columns `partner_id` and `partner_name` */
export const withNumbersSql = (page: string) => `
  select partner_id, partner_name, products, feeds, last_feed_id, last_completed_at
  from ${page} as page
  cross join lateral (
    select cast(coalesce(sum(products), 0) as bigint) as products, cast(coalesce(sum(feeds), 0) as bigint) as feeds,
      max(last_completed_at) as last_completed_at
    from partner_counts where partner_counts.partner_id = page.partner_id
  ) as numbers
  left join lateral (
    select feed_id as last_feed_id from feeds where feeds.partner_id = page.partner_id
    order by uploaded_at desc, feed_id desc limit 1
  ) as last_feed on true`;

/** Finds or creates a partner, and locks its row against removal. Safe to call concurrently. */
export async function getOrInsertPartner(db: Database, partnerName: string): Promise<number> {
  const { rows } = await db.raw<{ rows: { partner_id: number }[] }>(
    `with created as (
       insert into partners (partner_name)
       select :partnerName where not exists (select from partners where partner_name = :partnerName)
       on conflict do nothing
       returning partner_id
     ), existing as (
       select partner_id from partners where partner_name = :partnerName for key share
     )
     select partner_id from created
     union all
     select partner_id from existing`,
    { partnerName },
  );
  // Another transaction created or merged the partner meanwhile: the next statement sees that.
  return rows[0]?.partner_id ?? getOrInsertPartner(db, partnerName);
}

/** Locks the row of a partner against removal until the transaction ends. @returns whether the partner is still there */
export async function lockAgainstRemoval(trx: Knex.Transaction, partnerId: number): Promise<boolean> {
  const { rows } = await trx.raw<{ rows: unknown[] }>(
    'select from partners where partner_id = ? for key share',
    [partnerId],
  );
  return rows.length > 0;
}

export async function findPartnerId(db: Database, partnerName: string): Promise<number | undefined> {
  const partner = await db('partners')
    .where('partner_name', partnerName)
    .first<{ partner_id: number } | undefined>('partner_id');
  return partner?.partner_id;
}

export async function partnerExists(db: Database, partnerName: string): Promise<boolean> {
  return (await findPartnerId(db, partnerName)) !== undefined;
}
