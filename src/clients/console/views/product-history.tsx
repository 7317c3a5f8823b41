import { Link } from 'wouter';
import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import { usePages } from '../data/queries';
import { money } from '../locale';
import { Availability } from '../parts/availability';
import { Card } from '../parts/page';
import { List } from '../parts/query';
import { DataTable, type DataColumn } from '../parts/table';
import { Time } from '../parts/time';
import { Value } from '../parts/value';
import { addressOf } from '../routes';
import { texts } from '../texts';

type Version = Schemas['ProductVersion'];
type Change = Version['changes'][number];

/** The versions of a product, newest first: what changed, and which run changed it. */
export function History({ product }: { product: Schemas['Product'] }) {
  const { product_id, currency } = product;
  const history = usePages(['product', product_id, 'history'], (cursor) =>
    bodyOf(
      client.GET('/products/{product_id}/history', {
        params: { path: { product_id }, query: { cursor } },
      }),
    ),
  );
  return (
    <Card title={texts.product.history}>
      <List of={history} empty={<p className="muted">{texts.product.created}</p>}>
        {(versions) => (
          <DataTable
            label={texts.product.history}
            columns={columns}
            rows={withCurrencies(versions, currency)}
            keyOf={({ version }) => version.valid_from}
          />
        )}
      </List>
    </Card>
  );
}

interface PricedVersion {
  version: Version;
  /** Currency of the prices before and after the change. */
  currencies: { before: string | null; after: string | null };
}

/** Adds the currencies to versions, newest first. @param currency - of the newest */
function withCurrencies(versions: Version[], currency: string | null | undefined): PricedVersion[] {
  let after = currency ?? null;
  return versions.map((version) => {
    const change = version.changes.find(({ field }) => field === 'currency');
    const currencies = { before: change ? change.before : after, after };
    after = currencies.before;
    return { version, currencies };
  });
}

const columns: DataColumn<PricedVersion>[] = [
  { title: texts.product.when, kind: 'tight', cell: ({ version }) => <Time at={version.valid_from} /> },
  { title: texts.product.what, cell: (priced) => <Changes {...priced} /> },
  { title: texts.product.by, cell: ({ version }) => <Origin version={version} /> },
];

function Changes({ version: { changes, valid_to }, currencies }: PricedVersion) {
  if (changes.length === 0) return valid_to === null ? texts.product.created : texts.product.moved;
  if (changes.some(({ field, before }) => field === 'sku' && before === null)) {
    const valueOf = (name: string) => changes.find(({ field }) => field === name)?.after ?? null;
    const price = valueOf('price');
    return (
      <span>
        {texts.product.created}
        {price && <>: {money(price, valueOf('currency'))}</>}
      </span>
    );
  }
  return (
    <ul className="plain">
      {changes.map((each) => (
        <li key={each.field}>
          {texts.fields[each.field]}:{' '}
          <Shown field={each.field} value={each.before} currency={currencies.before} /> →{' '}
          <Shown field={each.field} value={each.after} currency={currencies.after} />
        </li>
      ))}
    </ul>
  );
}

/** A value of a field, in words. */
function Shown({
  field,
  value,
  currency,
}: Pick<Change, 'field'> & { value: string | null; currency: string | null }) {
  if (value === null) return <Value>{value}</Value>;
  if (field === 'price') return <>{money(value, currency)}</>;
  if (field === 'availability') return <Availability value={value} />;
  if (field === 'withdrawn_at') return <Time at={value} />;
  return <Value>{value}</Value>;
}

/** What began a version: a run, which the link leads to, or a person. */
function Origin({ version: { feed_id, run, is_external, changes } }: { version: Version }) {
  if (is_external) return <span className="badge watch">{texts.product.manual}</span>;
  if (run === null && changes.some(({ field }) => field === 'withdrawn_at')) return texts.product.alone;
  return (
    <Link href={addressOf('feed', run === null ? { feed: feed_id } : { feed: feed_id, step: 'runs', run })}>
      {run === null ? feed_id : texts.product.run(run, feed_id)}
    </Link>
  );
}
