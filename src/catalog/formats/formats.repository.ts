import type { Knex } from 'knex';
import { changeRows, queryRows, type Database } from '../../base/db/database';
import { takeLock } from '../../base/db/locks';
import { boundedPageSql, type Found } from '../../base/db/page';
import { allOf, sql } from '../../base/db/sql';
import type { FeedFormat, FormatDefinition } from '../../feed-format/format-definition';
import type { PartnerScope } from '../../base/caller';

/** A partner's own format. */
export interface FormatRow {
  format_name: string;
  partner_name: string;
  definition: FormatDefinition;
  created_at: Date;
  updated_at: Date;
}

/** Position of a partner's format in the list. */
export interface FormatPosition {
  partnerName: string;
  formatName: string;
}

/** Filter and page of the formats of partners; an absent field matches all. */
interface FormatListing {
  scope: PartnerScope;
  partnerName?: string;
  after?: FormatPosition;
  limit: number;
}

/** Maximum number of formats of a partner. */
export const formatsMax = 100;

/** The name of the partner's format that applies to uploads without one. */
export const defaultFormatName = 'default';

export function listPartnerFormats(db: Database, listing: FormatListing): Promise<Found<FormatRow>[]> {
  const { scope, partnerName, after, limit } = listing;
  const conditions = [scope ?? undefined, partnerName]
    .filter((name) => name !== undefined)
    .map((name) => sql`partner_name = ${name}`);
  if (after) conditions.push(sql`(partner_name, format_name) > (${after.partnerName}, ${after.formatName})`);
  const rows = sql`
    ${selectFormats} where ${allOf(conditions)} order by partner_name, format_name limit ${limit + 1}`;
  return queryRows<Found<FormatRow>>(db, boundedPageSql(rows, limit));
}

export async function findFormat(
  db: Database,
  partnerId: number,
  formatName: string,
): Promise<FormatRow | null> {
  // PostgreSQL has no NUL.
  if (formatName.includes('\0')) return null;
  const statement = sql`${selectFormats} where partner_id = ${partnerId} and format_name = ${formatName}`;
  const [format] = await queryRows<FormatRow>(db, statement);
  return format ?? null;
}

const selectFormats = sql`
  select format_name, partner_name, definition, partner_formats.created_at, partner_formats.updated_at
  from partner_formats join partners using (partner_id)`;

/** Finds a format by the name of its partner. */
export async function findFormatOf(
  db: Database,
  partnerName: string,
  formatName: string,
): Promise<FeedFormat | undefined> {
  return db('partner_formats')
    .join('partners', 'partners.partner_id', 'partner_formats.partner_id')
    .where({ partner_name: partnerName, format_name: formatName })
    .first<FeedFormat | undefined>('format_name as name', 'definition');
}

/** Tells whether any partner has a format of this name. */
export async function isFormatName(db: Database, formatName: string): Promise<boolean> {
  return (await db('partner_formats').where('format_name', formatName).first('format_name')) !== undefined;
}

/**
 * Creates a format, or replaces the partner's format of this name. The caller has locked the partner against removal.
 * @returns whether it is stored: false if the partner has `formatsMax` others
 */
export async function upsertFormat(
  trx: Knex.Transaction,
  partnerId: number,
  { name, definition }: FeedFormat,
): Promise<boolean> {
  // Serializes concurrent requests for the partner, also while it has no format: they share the lock of its row, which a removal or a merge
  // of the partner acquires before any format.
  await takeLock(trx, 'formats', partnerId);
  const stored = await changeRows(
    trx,
    sql`insert into partner_formats (partner_id, format_name, definition)
     select ${partnerId}, ${name}, cast(${JSON.stringify(definition)} as json)
     where (
       select count(*) from partner_formats where partner_id = ${partnerId} and format_name <> ${name}
     ) < ${formatsMax}
     on conflict (partner_id, format_name) do update set definition = excluded.definition, updated_at = now()`,
  );
  return stored > 0;
}

/** Deletes a format unless a source names it. @returns the name of that source */
export async function deleteFormat(
  trx: Knex.Transaction,
  partnerId: number,
  formatName: string,
): Promise<string | undefined> {
  const named = { partner_id: partnerId, format_name: formatName };
  // A source that is being stored with the format has locked it.
  await trx('partner_formats').where(named).forUpdate().first('format_name');
  const source = await trx('sources')
    .where(named)
    .orderBy('source_name')
    .first<{ source_name: string } | undefined>('source_name');
  if (!source) await trx('partner_formats').where(named).delete();
  return source?.source_name;
}
