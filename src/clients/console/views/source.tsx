import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import { addressOfSource } from '../data/address';
import { fetchReasonOf } from '../data/reasons';
import { scheduleInWords } from '../data/schedule';
import { isInProgress, useFetchNow, useLastFetch, useSource, type SourcePath } from '../data/sources';
import { percent } from '../locale';
import { Action } from '../parts/action';
import { Confirm } from '../parts/confirm';
import { Facts } from '../parts/facts';
import { FailureNotice } from '../parts/failure';
import { Card, PageView } from '../parts/page';
import { Query } from '../parts/query';
import { Value } from '../parts/value';
import { addressOf, routes } from '../routes';
import { texts } from '../texts';
import { FetchHistory } from './source-fetches';
import { NextTimes } from './source-schedule';
import { SourceState } from './sources';

/** A source: its state, definition, schedule, and fetches. */
export function SourceView({ path }: { path: SourcePath }) {
  const source = useSource(path);
  const last = useLastFetch(path);
  const [isAsked, setAsked] = useState(false);
  const fetchNow = useFetchNow();
  const isFetching = fetchNow.isPending || last.data?.status === 'running';
  return (
    <PageView
      title={path.source_name}
      trail={[
        { text: texts.sources.title, href: routes.sources },
        { text: path.partner_name, href: addressOf('partner', { partner: path.partner_name }) },
      ]}
      lead={source.data && <Head source={source.data} />}
      actions={
        source.data && (
          <>
            <Action kind="primary" isDisabled={isFetching} onPress={() => fetchNow.mutate(path)}>
              {isFetching ? texts.fetches.statuses.running : texts.sources.fetchNow}
            </Action>
            <Link className="button" href={addressOfSource(path, 'edit')}>
              {texts.sources.edit}
            </Link>
            <Action kind="danger" onPress={() => setAsked(true)}>
              {texts.sources.remove}
            </Action>
          </>
        )
      }
    >
      {fetchNow.error && <FailureNotice error={fetchNow.error} />}
      <Query of={source}>
        {(data) => (
          <>
            {data.state === 'failing' && <Failing source={data} reason={last.data?.failure_reason} />}
            <div className="columns">
              <What source={data} hasFile={!isInProgress(last.data) && Boolean(last.data?.feed_id)} />
              <Card title={texts.schedule.next}>
                <NextTimes
                  schedule={data.definition.is_enabled ? data.definition.schedule : null}
                  first={data.next_fetch_at}
                />
              </Card>
            </div>
            <FetchHistory path={path} last={last.data} />
            {isAsked && <RemoveDialog path={path} onClose={() => setAsked(false)} />}
          </>
        )}
      </Query>
    </PageView>
  );
}

function Head({ source }: { source: Schemas['Source'] }) {
  return (
    <div className="feed-head">
      <SourceState state={source.state} />
      <Value>{source.definition.url}</Value>
    </div>
  );
}

function Failing({ source, reason }: { source: Schemas['Source']; reason?: string | null }) {
  return (
    <div role="alert" className="notice bad">
      <h2>{texts.sources.failing(source.failures_in_a_row)}</h2>
      {reason && (
        <p>
          <Value>{fetchReasonOf(reason)}</Value>
        </p>
      )}
      <p>{texts.sources.failingWay}</p>
      <Link className="button" href={addressOfSource(source, 'edit')}>
        {texts.sources.edit}
      </Link>
    </div>
  );
}

function What({ source, hasFile }: { source: Schemas['Source']; hasFile: boolean }) {
  const { format, mode, collection, max_withdrawn_percent, run_after_fetch, schedule, headers, basic_auth } =
    source.definition;
  const secrets = [
    ...Object.keys(headers ?? {}),
    ...(basic_auth ? [texts.sources.basic(basic_auth.username)] : []),
  ];
  return (
    <Card title={texts.sources.what}>
      <Facts
        facts={[
          [texts.sources.format, format ?? texts.sources.defaultFormat],
          [texts.sources.mode, mode && texts.check.modes[mode]],
          [texts.feed.collection, collection],
          [
            texts.sources.percent,
            mode === 'replace' &&
              (max_withdrawn_percent == null
                ? texts.sources.usualLimit
                : percent(max_withdrawn_percent / 100)),
          ],
          [texts.sources.after, run_after_fetch ? texts.sources.runs : texts.sources.stores],
          [
            texts.schedule.title,
            schedule ? `${scheduleInWords(schedule.cron)} (${schedule.time_zone})` : texts.sources.onRequest,
          ],
          [texts.sources.secrets, secrets.length > 0 && <Value>{secrets.join(', ')}</Value>],
          [
            texts.sources.lastFeed,
            source.last_feed_id && (
              <Link href={addressOf('feed', { feed: source.last_feed_id, step: 'run' })}>
                {texts.sources.openFeed}
              </Link>
            ),
          ],
        ]}
      />
      {hasFile && (
        <Link className="button" href={addressOfSource(source, 'test')}>
          {texts.sources.look}
        </Link>
      )}
    </Card>
  );
}

function RemoveDialog({ path, onClose }: { path: SourcePath; onClose: () => void }) {
  const [, navigate] = useLocation();
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: () =>
      bodyOf(client.DELETE('/partners/{partner_name}/sources/{source_name}', { params: { path } })),
    onSuccess: async () => {
      navigate(routes.sources);
      await queries.invalidateQueries({ queryKey: ['sources'] });
    },
  });
  return (
    <Confirm
      title={texts.sources.removeTitle(path.source_name)}
      isOpen
      onClose={onClose}
      actions={
        <Action kind="danger" isDisabled={remove.isPending} onPress={() => remove.mutate()}>
          {texts.sources.remove}
        </Action>
      }
    >
      <p>{texts.sources.removeLead}</p>
      {remove.error && <FailureNotice error={remove.error} />}
    </Confirm>
  );
}
