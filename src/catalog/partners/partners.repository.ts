import type { Knex } from 'knex';
import { queryRows, type Database } from '../../base/db/database';
import type { PartnerScope } from '../../base/caller';
import { partnerNotFound } from '../../base/errors';
import { allOf, raw, sql, type Sql } from '../../base/db/sql';
import { toPage, type Page } from '../../base/pagination';
import { attentionCursor, type Attention, type AttentionPosition, type AttentionReason } from './attention';
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
  /** Worst first. */
  attention: Attention[];
}

/** Filter of partners; an absent field matches all. */
interface PartnerFilter {
  scope: PartnerScope;
  /** The exact name. */
  name?: string;
  /** The beginning of the name, case-insensitive. */
  prefix?: string;
  attention?: AttentionReason;
}

/** A page of partners by name. `after`: a name; it need not exist. */
type PageByName = PartnerFilter & { after?: string; limit: number };

/** A page of partners by attention. `after`: a position; it need not exist. */
type PageByAttention = PartnerFilter & { after?: AttentionPosition; limit: number };

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

/** @throws partner_not_found for a partner outside the scope */
async function nameInScope(db: Database, sentName: string, scope: PartnerScope): Promise<string> {
  // PostgreSQL has no NUL.
  if (sentName.includes('\0')) throw partnerNotFound();
  const name = await storedPartnerName(db, sentName);
  if (scope !== null && scope !== name) throw partnerNotFound();
  return name;
}

/**
 * Lists partners by name. The numbers are sums of a few rows each, which triggers maintain. There are few partners: a prefix is
 * compared with the names in their order, without an index.
 */
export async function listPartners(
  db: Database,
  { after, limit, ...filter }: PageByName,
): Promise<Page<PartnerRow>> {
  const afterName = after === undefined ? raw('true') : sql`partner_name > ${after}`;
  const page = sql`
    select partner_id, partner_name from partners
    where ${matches(filter)} and ${afterName} order by partner_name limit ${limit + 1}`;
  const rows = await readPage<PartnerRow>(db, page, 'partner_name');
  return toPage(rows, limit, ({ partner_name }) => partner_name);
}

/** A partner with its worst reason, null without one; `since` in microseconds. */
type RankedPartnerRow = PartnerRow & { severity: number | null; since_text: string | null };

/**
 * Lists partners by their worst reason, by its duration, and by name; partners without a reason follow, by name. The index has
 * the reasons in this order; partners without one are read only when a page has room for them.
 */
export async function listPartnersByAttention(
  db: Database,
  { after, limit, ...filter }: PageByAttention,
): Promise<Page<PartnerRow>> {
  const max = limit + 1;
  const withReason = after?.worst
    ? sql`(severity, since) >= (${after.worst.severity}, cast(${after.worst.since} as timestamptz))
        and (severity, since, partner_name) > (${after.worst.severity}, cast(${after.worst.since} as timestamptz), ${after.partnerName})`
    : raw(after ? 'false' : 'true');
  const withoutReason = after && !after.worst ? sql`partner_name > ${after.partnerName}` : raw('true');
  const page = sql`
    with needy as materialized (
      select partner_id, partner_name, severity, since
      from partner_attention as worst join partners using (partner_id)
      where not exists (
        select from partner_attention as worse
        where worse.partner_id = worst.partner_id and worse.severity < worst.severity
      ) and ${matches(filter)} and ${withReason}
      order by severity, since, partner_name limit ${max}
    ), others as materialized (
      select partner_id, partner_name
      from partners
      where ${raw(filter.attention === undefined ? 'true' : 'false')}
        and not exists (select from partner_attention where partner_attention.partner_id = partners.partner_id)
        and ${matches(filter)} and ${withoutReason}
      order by partner_name limit (select ${max} - count(*) from needy)
    )
    select partner_id, partner_name, severity, since, ${utcText('since', 'US')} as since_text from needy
    union all
    select partner_id, partner_name, null, null, null from others`;
  const rows = await readPage<RankedPartnerRow>(db, page, 'severity, since, partner_name');
  return toPage(rows, limit, ({ severity, since_text: since, partner_name: partnerName }) =>
    attentionCursor({ worst: severity === null ? null : { severity, since: since! }, partnerName }),
  );
}

function matches({ scope, name, prefix, attention }: PartnerFilter): Sql {
  const conditions = [scope ?? undefined, name].flatMap((one) =>
    one === undefined ? [] : [sql`partner_name = ${one}`],
  );
  if (prefix !== undefined) {
    conditions.push(
      sql`starts_with(lower(partner_name collate "und-x-icu"), lower(cast(${prefix} as text) collate "und-x-icu"))`,
    );
  }
  if (attention !== undefined) {
    conditions.push(sql`exists (
      select from partner_attention as wanted where wanted.partner_id = partners.partner_id and wanted.reason = ${attention}
    )`);
  }
  return allOf(conditions);
}

/** @param page - a query as for `withNumbersSql` @param orderBy - columns of the page */
function readPage<Row extends PartnerRow>(db: Database, page: Sql, orderBy: string): Promise<Row[]> {
  return queryRows<Row>(db, sql`${withNumbersSql(sql`(${page})`)} order by ${raw(orderBy)}`);
}

/** Returns SQL that formats a time in ISO 8601. @param digits - `MS` or `US` */
const utcText = (time: string, digits: 'MS' | 'US') =>
  raw(`to_char(${time} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.${digits}"Z"')`);

/** Returns a query for partners as `PartnerRow`. @param page - a relation with the columns `partner_id` and `partner_name` */
export const withNumbersSql = (page: Sql) => sql`
  select page.*, products, feeds, last_feed_id, last_completed_at, attention
  from ${page} as page
  cross join lateral (
    select cast(coalesce(sum(products), 0) as bigint) as products, cast(coalesce(sum(feeds), 0) as bigint) as feeds,
      max(last_completed_at) as last_completed_at
    from partner_counts where partner_counts.partner_id = page.partner_id
  ) as numbers
  left join lateral (
    select feed_id as last_feed_id from feeds where feeds.partner_id = page.partner_id
    order by uploaded_at desc, feed_id desc limit 1
  ) as last_feed on true
  cross join lateral (
    select coalesce(json_agg(json_build_object('reason', reason, 'since', ${utcText('since', 'MS')}, 'count', count) order by severity), '[]')
      as attention
    from partner_attention where partner_attention.partner_id = page.partner_id
  ) as reasons`;

/** Finds or creates a partner, and locks its row against removal. Safe to call concurrently. */
export async function getOrInsertPartner(db: Database, partnerName: string): Promise<number> {
  const [partner] = await queryRows<{ partner_id: number }>(
    db,
    sql`with created as (
       insert into partners (partner_name)
       select ${partnerName} where not exists (select from partners where partner_name = ${partnerName})
       on conflict do nothing
       returning partner_id
     ), existing as (
       select partner_id from partners where partner_name = ${partnerName} for key share
     )
     select partner_id from created
     union all
     select partner_id from existing`,
  );
  // Another transaction created or merged the partner meanwhile: the next statement sees that.
  return partner?.partner_id ?? getOrInsertPartner(db, partnerName);
}

/** Locks the row of a partner against removal until the transaction ends. @returns whether the partner still exists */
export async function lockAgainstRemoval(trx: Knex.Transaction, partnerId: number): Promise<boolean> {
  const rows = await queryRows(trx, sql`select from partners where partner_id = ${partnerId} for key share`);
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
