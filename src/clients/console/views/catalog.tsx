import { Link } from 'wouter';
import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import { useFilters } from '../data/address';
import { usePages } from '../data/queries';
import { isSearchCut, searchOf } from '../data/search';
import { money } from '../locale';
import { Action } from '../parts/action';
import { FailureNotice } from '../parts/failure';
import { Choice, Field } from '../parts/field';
import { More } from '../parts/more';
import { Card, Loading, PageView } from '../parts/page';
import { PartnerField } from '../parts/partner-field';
import { ScrollTable } from '../parts/scroll-table';
import { useDeferred } from '../parts/use-deferred';
import { Value } from '../parts/value';
import { addressOf } from '../routes';
import { texts } from '../texts';
import { facetFields, Facets } from './facets';

/** The products, by search, facets and order; or a partner's products as of a day. */
export function CatalogView() {
  const [read, write] = useFilters();
  const asOf = endOfDay(read('day'));
  const names = ['q', 'partner', 'day', 'sort', 'withdrawn', ...facetFields];
  return (
    <PageView title={texts.catalog.title}>
      <Card>
        <div className="filters" role="search">
          {!asOf && (
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
          {!asOf && (
            <Choice
              label={texts.catalog.sort}
              value={read('sort')}
              options={Object.entries(texts.catalog.sorts)}
              onChange={(sort) => write({ sort })}
            />
          )}
          <Field
            label={texts.catalog.asOf}
            type="date"
            value={read('day')}
            onChange={(day) => write({ day })}
          />
          <label className="check">
            <input
              type="checkbox"
              checked={read('withdrawn') === 'yes'}
              onChange={(event) => write({ withdrawn: event.target.checked ? 'yes' : '' })}
            />
            {texts.catalog.withdrawn}
          </label>
          {names.some(read) && (
            <Action onPress={() => write(Object.fromEntries(names.map((name) => [name, ''])))}>
              {texts.catalog.clear}
            </Action>
          )}
        </div>
      </Card>
      <div className="with-side">
        {!asOf && <Facets />}
        <Card>
          {asOf && !read('partner') ? (
            <p className="muted">{texts.catalog.asOfPartner}</p>
          ) : (
            <Products asOf={asOf} />
          )}
        </Card>
      </div>
    </PageView>
  );
}

/** Returns the end of a day in the user's time zone as an instant; undefined without a day, and before its end. */
function endOfDay(day: string): string | undefined {
  const end = new Date(`${day}T23:59:59.999`);
  return Number.isNaN(end.getTime()) || end.getTime() > Date.now() ? undefined : end.toISOString();
}

function Products({ asOf }: { asOf: string | undefined }) {
  const [read] = useFilters();
  const sort = read('sort') in texts.catalog.sorts ? read('sort') : '';
  const [sort_by, order] = sort.split(',') as [Schemas['ProductSortField'] | '', Schemas['SortOrder']];
  const query = useDeferred(
    JSON.stringify({
      partner_name: read('partner') || undefined,
      ...Object.fromEntries(facetFields.map((field) => [field, read(field) || undefined])),
      include_withdrawn: read('withdrawn') === 'yes' || undefined,
      ...(asOf ? { as_of: asOf } : { q: searchOf(read('q')), ...(sort_by && { sort_by, order }) }),
    }),
  );
  const products = usePages(['products', query], async (cursor) => {
    const asked = JSON.parse(query) as { sort_by?: Schemas['ProductSortField'] };
    // Other orders have no cursors.
    const hasPages = asked.sort_by === undefined || asked.sort_by === 'product_id';
    const params = { query: { ...asked, limit: hasPages ? 50 : 100, cursor } };
    const { items, next_cursor } = await bodyOf(client.GET('/products', { params }));
    const isCut = !hasPages && next_cursor !== undefined;
    return { items, isCut, next_cursor: hasPages ? next_cursor : undefined };
  });
  if (products.isLoadingError)
    return <FailureNotice error={products.error} retry={() => void products.refetch()} />;
  if (products.isPending) return <Loading />;
  const items = products.data.pages.flatMap((page) => page.items);
  if (items.length === 0)
    return (
      <>
        <p>{texts.catalog.none}</p>
        <p className="muted">{texts.catalog.noneWay}</p>
      </>
    );
  const { product_name, brand, category, price, availability } = texts.fields;
  return (
    <>
      <ScrollTable
        label={texts.catalog.title}
        columns={[
          ...[product_name, brand, category].map((title) => ({ title: title! })),
          { title: price!, isNumber: true },
          { title: availability! },
        ]}
      >
        {items.map((product) => (
          <tr key={product.product_id}>
            <th scope="row">
              <Link href={addressOf('product', { product: product.product_id })}>
                <Value>{product.product_name}</Value>
              </Link>
              <div className="muted">
                <Value>{product.sku}</Value> · <Value>{product.partner_name}</Value>
              </div>
            </th>
            <td>
              <Value>{product.brand}</Value>
            </td>
            <td>
              <Value>{product.category}</Value>
            </td>
            <td className="number">
              {product.price === null || product.price === undefined
                ? texts.none
                : money(product.price, product.currency)}
            </td>
            <td>
              {product.withdrawn_at ? (
                <span className="badge withdraw">{texts.actions.withdraw}</span>
              ) : (
                <Value>{product.availability}</Value>
              )}
            </td>
          </tr>
        ))}
      </ScrollTable>
      {products.data.pages[0]?.isCut && <p className="muted">{texts.catalog.first(items.length)}</p>}
      <More list={products} />
    </>
  );
}
