import type { components } from '../../generated/openapi';
import { queryRows, type Database } from '../db/database';
import { raw, sql } from '../db/sql';
import type { PartnerScope } from '../shared/caller';
import type { ProductListing } from './products.repository';
import { isActive, matches, ofPartners, toSearch } from './products.search';

type Facet = components['schemas']['ProductFacet'];
type FacetField = components['schemas']['ProductFacetField'];

/** Counts are exact up to here, so that they may be read from fewer rows. */
const countMax = 10_000;
const facetsMax = 50;

/** Lists the most frequent values of a field of the active products that match the filters. */
export async function listFacets(
  db: Database,
  field: FacetField,
  filter: ProductListing['filter'],
  scope: PartnerScope,
): Promise<Facet[]> {
  const search = toSearch({
    scope,
    filter,
    sort: { field: 'created_at', order: 'desc' },
    limit: facetsMax,
  });
  if (!search) return [];
  const statement = sql`
    select value, cast(least(matching, ${raw(countMax)}) as integer) as count, matching <= ${raw(countMax)} as is_exact
    from (
      select ${raw(field)} as value, count(*) as matching
      from products
      where ${search.partner ? ofPartners(search) : raw('true')} and ${matches(search)} and ${raw(isActive)}
        and ${raw(field)} is not null
      group by ${raw(field)}
    ) as counted
    order by matching desc, value
    limit ${raw(facetsMax)}`;
  return queryRows<Facet>(db, statement.sql, statement.bindings);
}
