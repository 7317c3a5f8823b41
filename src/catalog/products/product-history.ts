import type { Database } from '../../base/db/database';
import type { Reads } from '../../base/db/reads';
import { productColumns, type ProductColumn } from '../../feed-format/columns';
import type { PartnerScope } from '../../base/caller';
import { invalidCursor, productNotFound } from '../../base/errors';
import { parseId } from '../../base/ids';
import { toPage, type Page } from '../../base/pagination';
import { findPartnerOfProduct, findVersions, type ProductKey, type VersionRow } from './versions.repository';

/** The product of a request. */
export interface AskedHistory {
  id: string;
  scope: PartnerScope;
  ageSecondsMax: number;
}

/** A version with its differences from the previous one. */
export interface ProductVersion extends VersionRow {
  changes: VersionChange[];
  /** Whether the changes include a manual one. */
  isExternal: boolean;
}

/** A field that differs from the previous version, as texts. */
interface VersionChange {
  field: ProductColumn | 'withdrawn_at';
  before: string | null;
  after: string | null;
}

/**
 * Runs `read` for a product. If a replica does not have the product, the primary is read.
 * @throws product_not_found
 */
export async function readHistory<T>(
  reads: Reads,
  { id, scope, ageSecondsMax }: AskedHistory,
  read: (db: Database, product: ProductKey) => Promise<T>,
): Promise<T> {
  const productId = parseId('PR', id);
  if (productId === undefined) throw productNotFound(id);
  return reads(ageSecondsMax, async (db) => {
    const partnerId = await findPartnerOfProduct(db, productId, scope);
    if (partnerId === undefined) throw productNotFound(id);
    return read(db, { partnerId, productId });
  });
}

/** Parses a cursor, the change that began the last version of a page. @throws invalid_cursor */
export function parseVersionCursor(cursor: unknown): number {
  if (typeof cursor !== 'string' || !/^\d{1,15}$/.test(cursor)) throw invalidCursor();
  return Number(cursor);
}

/** Lists the versions of a product, newest first. @throws product_not_found */
export function listVersions(
  reads: Reads,
  asked: AskedHistory,
  { cursor, limit }: { cursor?: string; limit: number },
): Promise<Page<ProductVersion>> {
  return readHistory(reads, asked, async (db, product) => {
    const untilRunId = cursor === undefined ? undefined : parseVersionCursor(cursor);
    // One more version: it has the values before the last one.
    const rows = await findVersions(db, product, { untilRunId, limit: limit + 1 });
    const versions = rows.map((row, at) => toVersion(row, rows[at + 1]));
    const isCut = rows.length > 0 && rows.length < rows[0]!.found;
    return toPage(versions, isCut ? rows.length - 1 : limit, ({ run_id }) => String(run_id), rows[0]?.found);
  });
}

function toVersion(row: VersionRow, before: VersionRow | undefined): ProductVersion {
  return { ...row, changes: changesBetween(before, row), isExternal: before?.is_external ?? false };
}

const fields = [...productColumns, 'withdrawn_at'] as const;

/** Compares two versions. Without a previous one: the values of a new product; none if there may have been one. */
function changesBetween(before: VersionRow | undefined, row: VersionRow): VersionChange[] {
  if (!before && row.is_pruned) return [];
  return fields
    .map((field) => ({ field, before: before ? textOf(before[field]) : null, after: textOf(row[field]) }))
    .filter((change) => change.before !== change.after);
}

const textOf = (value: string | Date | null) => (value instanceof Date ? value.toISOString() : value);
