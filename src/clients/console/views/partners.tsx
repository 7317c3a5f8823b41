import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import { useFilters } from '../data/address';
import { usePartners } from '../data/queries';
import { count, time } from '../locale';
import { AttentionList } from '../parts/attention';
import { Download } from '../parts/download';
import { FailureNotice } from '../parts/failure';
import { Choice, Field } from '../parts/field';
import { More } from '../parts/more';
import { Card, Loading, PageView } from '../parts/page';
import { DataTable } from '../parts/table';
import { Value } from '../parts/value';
import { addressOf } from '../routes';
import { texts } from '../texts';
import { FeedList } from './feeds';
import { FormatList } from './formats';
import { SourceList } from './sources';

/** The partners by name, or sorted by need of attention, or with one reason for it. */
export function PartnersView() {
  const [read, write] = useFilters();
  const { sort, sorts, reason } = texts.partners;
  const { names } = texts.attention;
  const known = Object.keys(names) as (keyof typeof names)[];
  const sortBy = read('sort') === 'attention' ? 'attention' : 'name';
  const attention = known.find((each) => each === read('attention'));
  const list = usePartners({ q: read('q') || undefined, sort_by: sortBy, attention });
  return (
    <PageView title={texts.partners.title}>
      <Card>
        <div className="filters" role="search" aria-label={texts.feeds.filters}>
          <Field label={texts.partners.search} value={read('q')} onChange={(q) => write({ q })} />
          <Choice
            label={reason}
            value={attention ?? ''}
            options={[['', texts.all], ...known.map((each) => [each, names[each]] as const)]}
            onChange={(chosen) => write({ attention: chosen })}
          />
          <Choice
            label={sort}
            value={sortBy}
            options={Object.entries(sorts)}
            onChange={(chosen) => write({ sort: chosen })}
          />
        </div>
        <PartnerTable list={list} />
      </Card>
    </PageView>
  );
}

/** Partners, with the reasons for which they need attention. */
export function PartnerTable({ list }: { list: ReturnType<typeof usePartners> }) {
  if (list.isLoadingError) return <FailureNotice error={list.error} retry={() => void list.refetch()} />;
  if (list.isPending) return <Loading />;
  const partners = list.data.pages.flatMap(({ items }) => items);
  if (partners.length === 0) return <p className="muted">{texts.partners.none}</p>;
  const { name, attention, products, last, lastFeed } = texts.partners;
  return (
    <>
      <DataTable
        label={texts.partners.title}
        columns={[
          { title: name },
          { title: attention },
          { title: products, isNumber: true },
          { title: last },
          { title: lastFeed },
        ]}
      >
        {partners.map((partner) => (
          <PartnerRow key={partner.partner_name} partner={partner} />
        ))}
      </DataTable>
      <More list={list} />
    </>
  );
}

function PartnerRow({ partner }: { partner: Schemas['Partner'] }) {
  const { partner_name, products, last_completed_at, last_feed_id } = partner;
  return (
    <tr>
      <th scope="row">
        <Link href={addressOf('partner', { partner: partner_name })}>
          <Value>{partner_name}</Value>
        </Link>
      </th>
      <td>
        <AttentionList partner={partner} />
      </td>
      <td className="number">{count(products)}</td>
      <td>{last_completed_at ? time(last_completed_at) : texts.partners.never}</td>
      <td>
        {last_feed_id ? (
          <Link href={addressOf('feed', { feed: last_feed_id })}>{last_feed_id}</Link>
        ) : (
          texts.none
        )}
      </td>
    </tr>
  );
}

export function PartnerView({ name }: { name: string }) {
  const path = { partner_name: name };
  const partner = useQuery({
    queryKey: ['partner', name],
    queryFn: () => bodyOf(client.GET('/partners/{partner_name}', { params: { path } })),
  });
  const fetchProducts = () =>
    bodyOf<Blob>(client.GET('/partners/{partner_name}/products.csv', { params: { path }, parseAs: 'blob' }));
  return (
    <PageView
      title={name}
      actions={
        <>
          <Link className="button primary" href={addressOf('send', { partner: name })}>
            {texts.partners.send}
          </Link>
          <Link className="button" href={addressOf('catalog', { partner: name })}>
            {texts.partners.toCatalog}
          </Link>
          <Download name="products.csv" fetchFile={fetchProducts}>
            {texts.partners.export}
          </Download>
        </>
      }
    >
      {partner.error && <FailureNotice error={partner.error} retry={() => void partner.refetch()} />}
      {partner.data && (
        <dl className="counts">
          {[
            [texts.partners.products, count(partner.data.products)],
            [texts.partners.feeds, count(partner.data.feeds)],
            [texts.partners.last, time(partner.data.last_completed_at)],
          ].map(([title, value]) => (
            <div key={title} className="count">
              <dt>{title}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      )}
      {partner.data && partner.data.attention.length > 0 && (
        <Card title={texts.partners.attention}>
          <AttentionList partner={partner.data} />
        </Card>
      )}
      <Card title={texts.feeds.title}>
        <FeedList partner={name} />
      </Card>
      <Card
        title={texts.sources.title}
        actions={
          <Link className="button" href={addressOf('newSource', { partner: name })}>
            {texts.sources.add}
          </Link>
        }
      >
        <SourceList partner={name} isOfPartner />
      </Card>
      <Card title={texts.formats.title}>
        <FormatList partner={name} />
      </Card>
    </PageView>
  );
}
