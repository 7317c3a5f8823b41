import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import type { Schemas } from '../api';
import { bodyOf, client, download } from '../api';
import { addressOf, useFilters } from '../data/address';
import { useFeeds, usePartners } from '../data/queries';
import { count, percent, time } from '../locale';
import { Action } from '../parts/action';
import { Failure } from '../parts/failure';
import { Field } from '../parts/field';
import { More } from '../parts/more';
import { Card, Loading, Page } from '../parts/page';
import { Table } from '../parts/table';
import { Trend } from '../parts/trend';
import { Value } from '../parts/value';
import { texts } from '../texts';
import { FeedList } from './feeds';
import { FormatList } from './formats';
import { SourceList } from './sources';

export function PartnersView() {
  const [read, write] = useFilters();
  return (
    <Page title={texts.partners.title}>
      <Card>
        <Field label={texts.partners.search} value={read('q')} onChange={(q) => write({ q })} />
        <PartnerTable search={read('q')} />
      </Card>
    </Page>
  );
}

/** Partners with their health: the last load, the share of rows skipped, and its trend. */
export function PartnerTable({ search }: { search: string }) {
  const list = usePartners(search);
  if (list.isLoadingError) return <Failure error={list.error} retry={() => void list.refetch()} />;
  if (list.isPending) return <Loading />;
  const partners = list.data.pages.flatMap(({ items }) => items);
  if (partners.length === 0) return <p className="muted">{texts.partners.none}</p>;
  const { name, products, last, share, trend } = texts.partners;
  return (
    <>
      <Table
        label={texts.partners.title}
        columns={[
          { title: name },
          { title: products, isNumber: true },
          ...[last, share, trend].map((title) => ({ title })),
        ]}
      >
        {partners.map((partner) => (
          <PartnerRow key={partner.partner_name} partner={partner} />
        ))}
      </Table>
      <More list={list} />
    </>
  );
}

function PartnerRow({ partner }: { partner: Schemas['Partner'] }) {
  const { partner_name, products, last_completed_at } = partner;
  const feeds = useFeeds({ partner_name, limit: 10 });
  const shares = (feeds.data?.pages[0]?.items ?? [])
    .flatMap(({ summary }) => (summary && summary.processed > 0 ? [summary.skipped / summary.processed] : []))
    .reverse();
  return (
    <tr>
      <th scope="row">
        <Link href={addressOf('partner', { partner: partner_name })}>
          <Value>{partner_name}</Value>
        </Link>
      </th>
      <td className="number">{count(products)}</td>
      <td>{last_completed_at ? time(last_completed_at) : texts.partners.never}</td>
      <td>
        {feeds.isPending ? <span className="muted">{texts.none}</span> : <Health share={shares.at(-1)} />}
      </td>
      <td>
        {shares.length > 1 && (
          <Trend label={texts.partners.trendOf(shares.map((share) => percent(share)))} shares={shares} />
        )}
      </td>
    </tr>
  );
}

/** Above this share of skipped rows, a feed needs attention. */
const manySkipped = 0.05;

function Health({ share }: { share: number | undefined }) {
  const { good, watch, bad, unknown } = texts.partners.health;
  if (share === undefined) return <span className="badge">{unknown}</span>;
  const [kind, text] = share === 0 ? ['good', good] : share <= manySkipped ? ['watch', watch] : ['bad', bad];
  return (
    <>
      <span className={`badge ${kind}`}>{text}</span> {percent(share)}
    </>
  );
}

export function PartnerView({ name }: { name: string }) {
  const path = { partner_name: name };
  const partner = useQuery({
    queryKey: ['partner', name],
    queryFn: () => bodyOf(client.GET('/partners/{partner_name}', { params: { path } })),
  });
  const save = () =>
    download(
      client.GET('/partners/{partner_name}/products.csv', { params: { path }, parseAs: 'blob' }),
      'products.csv',
    );
  return (
    <Page
      title={name}
      actions={
        <>
          <Link className="button primary" href={addressOf('send', { partner: name })}>
            {texts.partners.send}
          </Link>
          <Link className="button" href={addressOf('catalog', { partner: name })}>
            {texts.partners.toCatalog}
          </Link>
          <Action onPress={() => void save()}>{texts.partners.export}</Action>
        </>
      }
    >
      {partner.error && <Failure error={partner.error} retry={() => void partner.refetch()} />}
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
    </Page>
  );
}
