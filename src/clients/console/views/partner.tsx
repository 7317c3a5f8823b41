import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { bodyOf, client, type Schemas } from '../api';
import { count } from '../locale';
import { AttentionTable } from '../parts/attention';
import { Counts } from '../parts/counts';
import { Download } from '../parts/download';
import { FeedList } from '../parts/feed-list';
import { Card, PageView } from '../parts/page';
import { Query } from '../parts/query';
import { Time } from '../parts/time';
import { WeekFigures } from '../parts/week';
import { addressOf } from '../routes';
import { texts } from '../texts';
import { FormatList } from './formats';
import { SourceList } from './sources';

/** A partner: what needs attention, its figures, and what belongs to it. */
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
      trail={[{ text: texts.partners.title, href: addressOf('partners', {}) }]}
      actions={
        <>
          <Download name="products.csv" fetchFile={fetchProducts}>
            {texts.partners.export}
          </Download>
          <Link className="button primary" href={addressOf('send', { partner: name })}>
            {texts.partners.send}
          </Link>
        </>
      }
    >
      <Query of={partner}>{(found) => <State partner={found} />}</Query>
      <Card
        title={texts.home.lastFeeds}
        actions={<Link href={addressOf('feeds', { partner: name })}>{texts.home.toFeeds}</Link>}
      >
        <FeedList partner={name} isOfPartner limit={10} />
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

function State({ partner }: { partner: Schemas['Partner'] }) {
  const { partner_name: name, products, feeds, last_completed_at: last } = partner;
  const { never, toCatalog, toSales, toChanges } = texts.partners;
  return (
    <>
      {partner.attention.length > 0 && (
        <Card title={texts.attention.title}>
          <AttentionTable partners={[partner]} isOfPartner />
        </Card>
      )}
      <Card>
        <Counts
          counts={[
            { title: texts.partners.products, value: count(products) },
            { title: texts.partners.feeds, value: count(feeds) },
            { title: texts.partners.last, value: last ? <Time at={last} /> : never },
          ]}
        />
        <div className="actions">
          {last && (
            <Link
              className="button"
              href={addressOf('partnerPlace', { partner: name, place: 'last_changes' })}
            >
              {toChanges}
            </Link>
          )}
          <Link className="button" href={addressOf('catalog', { partner: name })}>
            {toCatalog}
          </Link>
          <Link className="button" href={addressOf('sales', { partner: name })}>
            {toSales}
          </Link>
        </div>
      </Card>
      <WeekFigures partner={name} />
    </>
  );
}
