import { keepPreviousData, useIsFetching, useQuery } from '@tanstack/react-query';
import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import { useFilters } from '../data/address';
import { facetFields, sharedFilters, type FacetField } from '../data/catalog';
import { searchOf } from '../data/search';
import { count } from '../locale';
import { useDeferred } from '../parts/use-deferred';
import { Value } from '../parts/value';
import { texts } from '../texts';

const shownMax = 12;

/** The most frequent values among the found products, to narrow the search. */
export function Facets() {
  return (
    <div className="side">
      {facetFields.map((field) => (
        <Facet key={field} field={field} />
      ))}
    </div>
  );
}

function Facet({ field }: { field: FacetField }) {
  const [read, write] = useFilters();
  const chosen = read(field);
  const query = useDeferred(JSON.stringify({ field, q: searchOf(read('q')), ...sharedFilters(read) }));
  const facets = useQuery({
    queryKey: ['facets', query],
    queryFn: () =>
      bodyOf(
        client.GET('/products/facets', { params: { query: JSON.parse(query) as { field: FacetField } } }),
      ),
    // Counting many products takes time, which the rows do not wait for.
    enabled: useIsFetching({ queryKey: ['products'] }) === 0,
    placeholderData: keepPreviousData,
  });
  const values = facets.data?.items.slice(0, shownMax) ?? [];
  if (values.length === 0) return null;
  return (
    <section className="facet">
      <h2>{texts.fields[field]}</h2>
      <ul>
        {values.map((facet) => (
          <li key={facet.value}>
            <button
              type="button"
              aria-pressed={facet.value === chosen}
              onClick={() => write({ [field]: facet.value === chosen ? '' : facet.value })}
            >
              <Value>
                {(field === 'availability' ? texts.availabilities[facet.value] : undefined) ?? facet.value}
              </Value>
              <span className="muted">{totalOf(facet)}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

const totalOf = ({ count: total, is_exact }: Schemas['ProductFacet']) =>
  is_exact ? count(total) : texts.catalog.more(total);
