import { Link } from 'wouter';
import type { Schemas } from '../api';
import { addressOfSource, useFilters } from '../data/address';
import { wordsOf } from '../data/schedule';
import { useLastFetch, useSources } from '../data/sources';
import { time } from '../locale';
import { FailureNotice } from '../parts/failure';
import { More } from '../parts/more';
import { Card, Loading, PageView } from '../parts/page';
import { PartnerField } from '../parts/partner-field';
import { ScrollTable } from '../parts/scroll-table';
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
  if (list.isLoadingError) return <FailureNotice error={list.error} retry={() => void list.refetch()} />;
  if (list.isPending) return <Loading />;
  const sources = list.data.pages.flatMap(({ items }) => items);
  if (sources.length === 0) return <NoSource partner={partner} />;
  const { name, partner: owner, state, last, next } = texts.sources;
  const titles = [name, state, last, next, ...(isOfPartner ? [] : [owner])];
  return (
    <>
      <ScrollTable label={texts.sources.title} columns={titles.map((title) => ({ title }))}>
        {sources.map((source) => (
          <SourceRow
            key={`${source.partner_name}/${source.source_name}`}
            source={source}
            isOfPartner={isOfPartner}
          />
        ))}
      </ScrollTable>
      <More list={list} />
    </>
  );
}

function NoSource({ partner }: { partner: string }) {
  return (
    <div className="empty">
      <p>
        <strong>{partner ? texts.sources.noneOfPartner : texts.sources.none}</strong>
      </p>
      <p>{texts.sources.noneLead}</p>
      <Link className="button" href={addressOf('newSource', { partner })}>
        {texts.sources.add}
      </Link>
    </div>
  );
}

function SourceRow({ source, isOfPartner }: { source: Schemas['Source']; isOfPartner?: boolean }) {
  const { partner_name, source_name, definition, state, next_fetch_at } = source;
  const last = useLastFetch({ partner_name, source_name }, false);
  const isScheduled = definition.is_enabled && definition.schedule;
  return (
    <tr>
      <th scope="row">
        <Link href={addressOfSource(source)}>{source_name}</Link>
        <div className="muted">
          <Value>{definition.url}</Value>
        </div>
      </th>
      <td>
        <SourceState state={state} />
      </td>
      <td>
        {last.data ? (
          <>
            <FetchStatusBadge fetch={last.data} />
            <div className="muted whole">{time(last.data.finished_at ?? last.data.requested_at)}</div>
          </>
        ) : (
          last.data === null && <span className="muted">{texts.partners.never}</span>
        )}
      </td>
      <td>
        <span className="whole">{isScheduled ? time(next_fetch_at) : texts.sources.onRequest}</span>
        {isScheduled && <div className="muted">{wordsOf(definition.schedule!.cron)}</div>}
      </td>
      {!isOfPartner && (
        <td>
          <Link href={addressOf('partner', { partner: partner_name })}>
            <Value>{partner_name}</Value>
          </Link>
        </td>
      )}
    </tr>
  );
}

export function SourceState({ state }: { state: Schemas['SourceState'] }) {
  const kinds = { active: 'good', disabled: '', failing: 'bad' };
  return <span className={`badge ${kinds[state]}`}>{texts.sources.states[state]}</span>;
}
