import type { components } from '../../../generated/openapi';
import { queryRows, type Database } from '../../base/db/database';
import { ofPartner } from '../../base/db/layout/product-layout';
import { raw, sql } from '../../base/db/sql';
import type { PartnerScope } from '../../base/caller';
import type { ProductListing } from './products.repository';
import { allMatches, isListed, toSearch } from './products.search';

type Facet = components['schemas']['ProductFacet'];
type FacetField = components['schemas']['ProductFacetField'];

/** The document promises exact counts only up to this number: counting may stop there. */
const countMax = 10_000;
const facetsMax = 50;

/** Lists the most frequent values of a field of the products that match the filters. */
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
  const isOfPartner = await ofPartner(db, search.partner);
  if (!isOfPartner) return [];
  const statement = sql`
    select value, cast(least(matching, ${raw(countMax)}) as integer) as count, matching <= ${raw(countMax)} as is_exact
    from (
      select ${raw(field)} as value, count(*) as matching
      from products
      where ${isOfPartner} and ${allMatches(search)} and ${isListed(search)}
        and ${raw(field)} is not null
      group by ${raw(field)}
    ) as counted
    order by matching desc, value
    limit ${raw(facetsMax)}`;
  return queryRows<Facet>(db, statement);
}
