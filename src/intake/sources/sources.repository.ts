import type { Knex } from 'knex';
import { changeRows, queryRows, type Database } from '../../base/db/database';
import { boundedPageSql, type Found } from '../../base/db/page';
import { allOf, sql } from '../../base/db/sql';
import { inTransaction } from '../../base/db/transaction';
import { publishEventsSql } from '../../base/db/outbox';
import { failingAfter } from '../../catalog/partners/attention';
import { keepAttention, onePartner } from '../../catalog/partners/keep-attention';
import type { PartnerScope } from '../../base/caller';
import type { SourceDefinition } from './source-definition';

/** A source with its partner, as shown to users. */
export interface SourceRow {
  source_id: number;
  source_name: string;
  partner_name: string;
  /** Without secrets. */
  definition: SourceDefinition;
  failures_in_a_row: number;
  next_slot_at: Date | null;
  last_feed_id: number | null;
  created_at: Date;
  updated_at: Date;
}

export interface SourcePosition {
  partnerName: string;
  sourceName: string;
}

/** Filter and page of sources; an absent field matches all. */
interface SourceListing {
  scope: PartnerScope;
  partnerName?: string;
  after?: SourcePosition;
  limit: number;
}

/** Maximum number of sources of a partner. */
export const sourcesMax = 100;

const selectSources = sql`
  select source_id, source_name, partner_name, definition, failures_in_a_row, next_slot_at, last_feed_id, sources.created_at,
    sources.updated_at
  from sources join partners using (partner_id)`;

/** Lists sources by partner and name. */
export function listSources(db: Database, listing: SourceListing): Promise<Found<SourceRow>[]> {
  const { scope, partnerName, after, limit } = listing;
  const conditions = [scope ?? undefined, partnerName]
    .filter((name) => name !== undefined)
    .map((name) => sql`partner_name = ${name}`);
  if (after) conditions.push(sql`(partner_name, source_name) > (${after.partnerName}, ${after.sourceName})`);
  const rows = sql`
    ${selectSources} where ${allOf(conditions)} order by partner_name, source_name limit ${limit + 1}`;
  return queryRows<Found<SourceRow>>(db, boundedPageSql(rows, limit));
}

export async function findSource(
  db: Database,
  partnerId: number,
  sourceName: string,
): Promise<SourceRow | null> {
  // PostgreSQL has no NUL.
  if (sourceName.includes('\0')) return null;
  const statement = sql`${selectSources} where partner_id = ${partnerId} and source_name = ${sourceName}`;
  const [source] = await queryRows<SourceRow>(db, statement);
  return source ?? null;
}

/** The stored parts of a source before its replacement. */
export interface StoredSource {
  definition: SourceDefinition;
  secrets: Buffer | null;
}

/**
 * Locks the partner's sources and finds one: serializes concurrent requests for the partner.
 * @returns undefined if there is none of this name
 */
export async function lockSource(
  trx: Knex.Transaction,
  partnerId: number,
  sourceName: string,
): Promise<StoredSource | undefined> {
  await queryRows(trx, sql`select from partners where partner_id = ${partnerId} for no key update`);
  return trx('sources')
    .where({ partner_id: partnerId, source_name: sourceName })
    .forUpdate()
    .first<StoredSource | undefined>('definition', 'secrets');
}

interface SealedSource {
  source_id: number;
  partner_name: string;
  source_name: string;
  definition: SourceDefinition;
  secrets: Buffer;
}

/** Reads the sources that have secrets, in the order of their numbers. */
export function readStoredSecrets(db: Database): Promise<SealedSource[]> {
  return queryRows<SealedSource>(
    db,
    sql`select source_id, partner_name, source_name, definition, secrets
     from sources join partners using (partner_id) where secrets is not null order by source_id`,
  );
}

/** Replaces encrypted secrets, unless they have changed meanwhile. */
export function replaceSecrets(db: Database, sourceId: number, old: Buffer, sealed: Buffer): Promise<number> {
  return changeRows(
    db,
    sql`update sources set secrets = ${sealed} where source_id = ${sourceId} and secrets = ${old}`,
  );
}

interface NewSource extends StoredSource {
  partnerId: number;
  sourceName: string;
  /** Null without a schedule. */
  nextSlotAt: Date | null;
}

/**
 * Creates a source, or replaces the one of this name; resets its failures and validators.
 * @returns whether it is stored: false if the partner has `sourcesMax` others
 */
export async function upsertSource(trx: Knex.Transaction, source: NewSource): Promise<boolean> {
  const { partnerId, sourceName, definition, secrets, nextSlotAt } = source;
  const stored = await changeRows(
    trx,
    sql`insert into sources (partner_id, source_name, format_name, definition, secrets, next_slot_at)
     select ${partnerId}, ${sourceName}, ${definition.format ?? null}, cast(${JSON.stringify(definition)} as json), ${secrets}, cast(${nextSlotAt?.toISOString() ?? null} as timestamptz)
     where (
       select count(*) from sources where partner_id = ${partnerId} and source_name <> ${sourceName}
     ) < ${sourcesMax}
     on conflict (partner_id, source_name) do update set
       format_name = excluded.format_name, definition = excluded.definition, secrets = excluded.secrets,
       next_slot_at = excluded.next_slot_at, scheduled_at = now(), failures_in_a_row = 0, etag = null,
       last_modified = null, updated_at = now()`,
  );
  return stored > 0;
}

/** Locks a partner's own format against its deletion. */
export async function keepFormat(
  trx: Knex.Transaction,
  partnerId: number,
  formatName: string,
): Promise<void> {
  await trx('partner_formats')
    .where({ partner_id: partnerId, format_name: formatName })
    .forShare()
    .first('format_name');
}

export function deleteSource(db: Database, sourceId: number): Promise<void> {
  return inTransaction(db, 'request', async (trx) => {
    const partners = await trx('sources').where('source_id', sourceId).delete('partner_id');
    for (const { partner_id } of partners as { partner_id: number }[])
      await keepAttention(trx, onePartner(partner_id));
  });
}

/** Counts sources whose last attempts have failed. */
export async function countFailing(db: Database): Promise<number> {
  const statement = sql`
    select cast(count(*) as integer) as count from sources where failures_in_a_row >= ${failingAfter}`;
  const [row] = await queryRows<{ count: number }>(db, statement);
  return row!.count;
}

/** Publishes source.failed. The content is a row of `findSource`. */
export async function publishSourceFailed(db: Database, sourceId: number): Promise<void> {
  const event = sql`
    select 'source.failed' as event_type, partner_name, to_json(source) as content
    from (${selectSources} where source_id = ${sourceId}) as source`;
  await queryRows(db, publishEventsSql(event));
}
