import { Link } from 'wouter';
import type { Schemas } from '../api';
import { addressOfSource, useFilters } from '../data/address';
import { scheduleInWords } from '../data/schedule';
import { useLastFetch, useSources } from '../data/sources';
import { Empty } from '../parts/empty';
import { Card, PageView } from '../parts/page';
import { PartnerField } from '../parts/partner-field';
import { List } from '../parts/query';
import { DataTable, type DataColumn } from '../parts/table';
import { Time } from '../parts/time';
import { Value } from '../parts/value';
import { useDeferred } from '../parts/use-deferred';
import { addressOf, routes } from '../routes';
import { texts } from '../texts';
import { FetchStatusBadge } from './source-fetches';

/** The sources of all partners that the key may see. */
export function SourcesView() {
  const [read, write] = useFilters();
  const partner = useDeferred(read('partner'));
  return (
    <PageView
      title={texts.sources.title}
      lead={texts.sources.lead}
      actions={
        <Link className="button primary" href={routes.newSource}>
          {texts.sources.add}
        </Link>
      }
    >
      <Card>
        <PartnerField
          label={texts.feeds.partner}
          value={read('partner')}
          onChange={(name) => write({ partner: name })}
        />
        <SourceList partner={partner} />
      </Card>
    </PageView>
  );
}

/** Sources with state, last outcome and next time. @param partner - empty: all partners */
export function SourceList({ partner, isOfPartner }: { partner: string; isOfPartner?: boolean }) {
  const list = useSources(partner);
  const { name, partner: owner, state, last, next, title } = texts.sources;
  const columns: DataColumn<Schemas['Source']>[] = [
    { title: name, kind: 'name', cell: (source) => <NameAndUrl source={source} /> },
    { title: state, kind: 'tight', cell: (source) => <SourceState state={source.state} /> },
    { title: last, cell: (source) => <LastFetch source={source} /> },
    { title: next, cell: (source) => <NextFetch source={source} /> },
  ];
  if (!isOfPartner) columns.push({ title: owner, cell: PartnerLink });
  return (
    <List of={list} empty={<NoSource partner={partner} />}>
      {(sources) => (
        <DataTable
          label={title}
          columns={columns}
          rows={sources}
          keyOf={({ partner_name, source_name }) => `${partner_name}/${source_name}`}
        />
      )}
    </List>
  );
}

function NoSource({ partner }: { partner: string }) {
  return (
    <Empty
      title={partner ? texts.sources.noneOfPartner : texts.sources.none}
      lead={texts.sources.noneLead}
      action={
        <Link className="button" href={addressOf('newSource', { partner })}>
          {texts.sources.add}
        </Link>
      }
    />
  );
}

interface CellOptions {
  source: Schemas['Source'];
}

function NameAndUrl({ source }: CellOptions) {
  return (
    <>
      <Link href={addressOfSource(source)}>{source.source_name}</Link>
      <div className="muted small">
        <Value>{source.definition.url}</Value>
      </div>
    </>
  );
}

function LastFetch({ source: { partner_name, source_name } }: CellOptions) {
  const last = useLastFetch({ partner_name, source_name }, false);
  if (!last.data) return last.data === null && <span className="muted">{texts.partners.never}</span>;
  return (
    <>
      <FetchStatusBadge fetch={last.data} />{' '}
      <span className="muted">
        <Time at={last.data.finished_at ?? last.data.requested_at} />
      </span>
    </>
  );
}

function NextFetch({ source: { definition, next_fetch_at } }: CellOptions) {
  if (!definition.is_enabled || !definition.schedule)
    return <span className="muted">{texts.sources.onRequest}</span>;
  return (
    <>
      <Time at={next_fetch_at} />
      <div className="muted small">{scheduleInWords(definition.schedule.cron)}</div>
    </>
  );
}

const PartnerLink = ({ partner_name: partner }: Schemas['Source']) => (
  <Link href={addressOf('partner', { partner })}>
    <Value>{partner}</Value>
  </Link>
);

export function SourceState({ state }: { state: Schemas['SourceState'] }) {
  const kinds = { active: 'good', disabled: '', failing: 'bad' };
  return <span className={`badge ${kinds[state]}`}>{texts.sources.states[state]}</span>;
}
