import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { bodyOf, client } from '../api';
import { count, time } from '../locale';
import { AttentionList } from '../parts/attention';
import { Download } from '../parts/download';
import { FailureNotice } from '../parts/failure';
import { Card, PageView } from '../parts/page';
import { addressOf } from '../routes';
import { texts } from '../texts';
import { FeedList } from './feeds';
import { FormatList } from './formats';
import { SourceList } from './sources';

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
