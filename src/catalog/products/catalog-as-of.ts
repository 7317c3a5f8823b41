import type { Database } from '../../base/db/database';
import { partnerOfProduct } from '../../base/db/layout/product-layout';
import type { Reads } from '../../base/db/reads';
import { raw, sql } from '../../base/db/sql';
import type { PartnerScope } from '../../base/caller';
import { historyNotKept, invalidShape, productNotFound, type ShapeError } from '../../base/errors';
import { parseId } from '../../base/ids';
import type { Page } from '../../base/pagination';
import { findMoment, findProductAt, findProductsAt, type Moment } from './as-of.repository';
import type { FilterAsOf } from './pages/pages-as-of';
import { formatMicros, parseMicros, type Micros } from './point-in-time';
import { toProductPage, type ProductListing, type ProductRow } from './products.repository';
import { findVersions } from './versions.repository';

/** The moment of a request, as sent. */
interface AskedTime {
  asOf: string;
  scope: PartnerScope;
  ageSecondsMax: number;
}

/**
 * Reads at a moment. A replica serves it if it was up to date at that moment.
 * @throws validation_error for a moment in the future
 */
function readAt<T>(
  reads: Reads,
  { asOf, ageSecondsMax }: AskedTime,
  read: (db: Database, at: Micros) => Promise<T>,
): Promise<T> {
  const at = parseMicros(asOf);
  const ageSeconds = Math.max(0, Date.now() / 1000 - at / 1_000_000);
  return reads(Math.min(ageSecondsMax, ageSeconds), (db) => read(db, at));
}

/** @throws validation_error */
function requirePast(asOf: string, at: Micros, { now }: Moment): void {
  if (at <= now) return;
  const error = { type: 'datetime_past', loc: ['query', 'as_of'], msg: 'Input should be in the past' };
  throw invalidShape([{ ...error, input: asOf }]);
}

/**
 * Reads a product as it was.
 * @throws validation_error, product_not_found, history_not_kept
 */
export function getProductAsOf(reads: Reads, id: string, asked: AskedTime): Promise<ProductRow> {
  const productId = parseId('PR', id);
  return readAt(reads, asked, async (db, at) => {
    const partner =
      productId === undefined
        ? raw('cast(null as bigint)')
        : await partnerOfProduct(db, productId, asked.scope);
    const moment = await findMoment(db, partner, at);
    requirePast(asked.asOf, at, moment);
    const { partnerId } = moment;
    if (partnerId === null || productId === undefined) throw productNotFound(id);
    const found = await findProductAt(db, { ...moment, partnerId, at }, productId);
    if (found) return found;
    const [first] = await findVersions(db, { partnerId, productId }, { isFirst: true, limit: 1 });
    const isGone = !first || at >= first.valid_from;
    const isNew = !first?.is_pruned || at < first.created_at.getTime() * 1000;
    if (isGone || isNew) throw productNotFound(id);
    throw historyNotKept(id, formatMicros(first.valid_from));
  });
}

/** Parameters of `listProducts` besides filter and page, as sent. */
export interface OrderAsOf {
  q?: string;
  sort_by?: string;
  order?: string;
}

interface AskedCatalog extends AskedTime, OrderAsOf {
  /** With the stored name of the partner; the feed is an identifier. */
  filter: Omit<ProductListing['filter'], 'words'>;
  afterProductId?: number;
  limit: number;
}

/**
 * Lists the products of a partner as they were, by number.
 * @throws validation_error, history_not_kept
 */
export function listProductsAsOf(reads: Reads, asked: AskedCatalog): Promise<Page<ProductRow>> {
  const { scope, filter, afterProductId = 0, limit } = asked;
  const partnerName = scope ?? filter.partner_name;
  const errors = errorsAsOf(asked, partnerName);
  if (errors.length > 0) throw invalidShape(errors);
  return readAt(reads, asked, async (db, at) => {
    const partner = sql`(select partner_id from partners where partner_name = ${partnerName!})`;
    const moment = await findMoment(db, partner, at);
    requirePast(asked.asOf, at, moment);
    const { partnerId, begins } = moment;
    const filterAsOf = toFilter(filter, partnerName!);
    if (partnerId === null || !filterAsOf) return { items: [] };
    if (at < begins) throw historyNotKept(partnerName!, formatMicros(begins));
    // One more row shows whether there is a next page.
    const page = { afterProductId, limit: limit + 1 };
    const rows = await findProductsAt(db, { ...moment, partnerId, at }, filterAsOf, page);
    return toProductPage(rows, limit);
  });
}

function errorsAsOf({ q, sort_by: sortBy, order }: OrderAsOf, partnerName: string | undefined): ShapeError[] {
  const error = (name: string, msg: string, input: unknown): ShapeError => ({
    type: 'not_with_as_of',
    loc: ['query', name],
    msg: `${msg} with as_of`,
    input,
  });
  const errors: ShapeError[] = [];
  if (partnerName === undefined) {
    errors.push({ ...error('partner_name', 'Field required', null), type: 'missing' });
  }
  if (sortBy !== undefined && sortBy !== 'product_id') {
    errors.push(error('sort_by', "Input should be 'product_id'", sortBy));
  }
  if (order !== undefined && order !== 'asc') errors.push(error('order', "Input should be 'asc'", order));
  if (q !== undefined) errors.push(error('q', 'Input should be absent', q));
  return errors;
}

/** @returns undefined if nothing can match */
function toFilter(
  { partner_name, feed_id, include_withdrawn = false, ...texts }: AskedCatalog['filter'],
  partnerName: string,
): FilterAsOf | undefined {
  if (partner_name !== undefined && partner_name !== partnerName) return undefined;
  const feedId = feed_id === undefined ? undefined : parseId('FD', feed_id);
  if (feed_id !== undefined && feedId === undefined) return undefined;
  const values = feedId === undefined ? texts : { ...texts, feed_id: feedId };
  return { ...values, includesWithdrawn: include_withdrawn };
}
