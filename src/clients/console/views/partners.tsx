import { Link } from 'wouter';
import type { Schemas } from '../api';
import { useFilters } from '../data/address';
import { usePartners } from '../data/queries';
import { count } from '../locale';
import { AttentionList } from '../parts/attention';
import { Empty } from '../parts/empty';
import { Choice, Field } from '../parts/field';
import { Card, PageView } from '../parts/page';
import { List } from '../parts/query';
import { DataTable, type DataColumn } from '../parts/table';
import { Time } from '../parts/time';
import { useDeferred } from '../parts/use-deferred';
import { Value } from '../parts/value';
import { addressOf, routes } from '../routes';
import { texts } from '../texts';

type Partner = Schemas['Partner'];

/** The partners by name, or the most urgent first, or with one reason for attention. */
export function PartnersView() {
  const [read, write] = useFilters();
  const { names } = texts.attention;
  const known = Object.keys(names) as (keyof typeof names)[];
  const sortBy = read('sort') === 'attention' ? 'attention' : 'name';
  const attention = known.find((each) => each === read('attention'));
  const q = useDeferred(read('q'));
  const list = usePartners({ q: q || undefined, sort_by: sortBy, attention, limit: 50 });
  const isFiltered = q !== '' || attention !== undefined;
  return (
    <PageView
      title={texts.partners.title}
      actions={
        <Link className="button primary" href={routes.send}>
          {texts.partners.send}
        </Link>
      }
    >
      <Card>
        <div className="filters" role="search" aria-label={texts.feeds.filters}>
          <Field
            label={texts.partners.search}
            type="search"
            value={read('q')}
            onChange={(text) => write({ q: text })}
          />
          <Choice
            label={texts.partners.reason}
            value={attention ?? ''}
            options={[['', texts.all], ...known.map((each) => [each, names[each]] as const)]}
            onChange={(chosen) => write({ attention: chosen })}
          />
        </div>
        <List of={list} empty={<NoPartner isFiltered={isFiltered} />}>
          {(partners) => (
            <DataTable
              label={texts.partners.title}
              columns={columnsOf(sortBy, (sort) => write({ sort }))}
              rows={partners}
              keyOf={({ partner_name }) => partner_name}
            />
          )}
        </List>
      </Card>
    </PageView>
  );
}

function NoPartner({ isFiltered }: { isFiltered: boolean }) {
  const { none, noneLead, noneYet, noneYetLead } = texts.partners;
  if (isFiltered) return <Empty title={none} lead={noneLead} />;
  return (
    <Empty
      title={noneYet}
      lead={noneYetLead}
      action={
        <Link className="button" href={routes.send}>
          {texts.partners.send}
        </Link>
      }
    />
  );
}

function columnsOf(sortBy: 'name' | 'attention', sort: (by: string) => void): DataColumn<Partner>[] {
  const { name, attention, products, last, lastFeed, never } = texts.partners;
  return [
    {
      title: name,
      kind: 'name',
      sort: { direction: sortBy === 'name' ? 'ascending' : undefined, onSort: () => sort('') },
      cell: ({ partner_name }) => (
        <Link href={addressOf('partner', { partner: partner_name })}>
          <Value>{partner_name}</Value>
        </Link>
      ),
    },
    {
      title: attention,
      sort: {
        direction: sortBy === 'attention' ? 'descending' : undefined,
        onSort: () => sort('attention'),
      },
      cell: (partner) => (partner.attention.length > 0 ? <AttentionList partner={partner} /> : null),
    },
    { title: products, kind: 'number', cell: (partner) => count(partner.products) },
    {
      title: last,
      kind: 'tight',
      cell: ({ last_completed_at }) => (last_completed_at ? <Time at={last_completed_at} /> : never),
    },
    {
      title: lastFeed,
      kind: 'tight',
      cell: ({ last_feed_id: feed }) => feed && <Link href={addressOf('feed', { feed })}>{feed}</Link>,
    },
  ];
}
