import { Link } from 'wouter';
import type { Schemas } from '../api';
import { useFilters } from '../data/address';
import { usePartners } from '../data/queries';
import { count, time } from '../locale';
import { AttentionList } from '../parts/attention';
import { FailureNotice } from '../parts/failure';
import { Choice, Field } from '../parts/field';
import { More } from '../parts/more';
import { Card, Loading, PageView } from '../parts/page';
import { ScrollTable } from '../parts/scroll-table';
import { Value } from '../parts/value';
import { addressOf } from '../routes';
import { texts } from '../texts';

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
      <ScrollTable
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
      </ScrollTable>
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
