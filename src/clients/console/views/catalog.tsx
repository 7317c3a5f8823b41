import { useFilters } from '../data/address';
import { endOfDay, facetFields } from '../data/catalog';
import { useHasNone } from '../data/existence';
import { isSearchCut } from '../data/search';
import { Action } from '../parts/action';
import { Check } from '../parts/check';
import { Empty } from '../parts/empty';
import { Choice, Field } from '../parts/field';
import { Card, PageView } from '../parts/page';
import { PartnerField } from '../parts/partner-field';
import { useMedia } from '../parts/use-media';
import { Value } from '../parts/value';
import { texts } from '../texts';
import { Facets } from './facets';
import { NoProduct, Products } from './products';

const names = ['q', 'partner', 'day', 'sort', 'withdrawn', ...facetFields];

/** The products, by search, facets and order; or a partner's products as of a day. */
export function CatalogView() {
  const [read, write] = useFilters();
  const isAsOf = endOfDay(read('day')) !== undefined;
  const isWide = useMedia('(min-width: 75rem)');
  const clear = () => write(Object.fromEntries(names.map((name) => [name, ''])));
  const clearAction = names.some(read) && <Action onPress={clear}>{texts.catalog.clear}</Action>;
  if (useHasNone('products'))
    return (
      <PageView title={texts.catalog.title}>
        <Card>
          <NoProduct />
        </Card>
      </PageView>
    );
  return (
    <PageView title={texts.catalog.title}>
      <Card>
        <div className="filters" role="search">
          {!isAsOf && (
            <Field
              label={texts.catalog.search}
              type="search"
              hint={isSearchCut(read('q')) ? texts.catalog.cut : undefined}
              value={read('q')}
              onChange={(q) => write({ q })}
            />
          )}
          <PartnerField
            label={texts.catalog.partner}
            value={read('partner')}
            onChange={(partner) => write({ partner })}
          />
          <Field
            label={texts.catalog.asOf}
            type="date"
            value={read('day')}
            onChange={(day) => write({ day })}
          />
          {!isAsOf && (
            // The titles of the table sort it, where they are shown.
            <div className="phone-only">
              <Choice
                label={texts.catalog.sort}
                value={read('sort')}
                options={Object.entries(texts.catalog.sorts)}
                onChange={(sort) => write({ sort })}
              />
            </div>
          )}
          <Check
            label={texts.catalog.withdrawn}
            isChecked={read('withdrawn') === 'yes'}
            onChange={(isChecked) => write({ withdrawn: isChecked ? 'yes' : '' })}
          />
          {clearAction}
        </div>
        <ChosenFacets />
        {!isAsOf && !isWide && (
          <details>
            <summary>{texts.catalog.facets}</summary>
            <Facets />
          </details>
        )}
      </Card>
      <div className="with-side">
        {!isAsOf && isWide && <Facets />}
        <Card>
          {isAsOf && !read('partner') ? (
            <Empty title={texts.catalog.asOfPartner} lead={texts.catalog.asOfPartnerWay} />
          ) : (
            <Products clearAction={clearAction} />
          )}
        </Card>
      </div>
    </PageView>
  );
}

/** The facets that narrow the list, each with its removal. */
function ChosenFacets() {
  const [read, write] = useFilters();
  const chosen = facetFields.filter(read);
  if (chosen.length === 0) return null;
  return (
    <div className="actions">
      {chosen.map((field) => {
        const value = texts.availabilities[read(field)] ?? read(field);
        return (
          <button
            key={field}
            type="button"
            className="chip"
            aria-label={texts.catalog.withoutFacet(texts.fields[field]!, value)}
            onClick={() => write({ [field]: '' })}
          >
            {texts.fields[field]}: <Value>{value}</Value> <span aria-hidden>×</span>
          </button>
        );
      })}
    </div>
  );
}
