import { Link, useLocation } from 'wouter';
import type { Schemas } from '../api';
import { addressOfSource, useFilters } from '../data/address';
import { scheduleInWords } from '../data/schedule';
import {
  isInProgress,
  useFetchNow,
  useLastFetch,
  useSaveSource,
  useSource,
  type SourcePath,
} from '../data/sources';
import { Action } from '../parts/action';
import { FailureNotice } from '../parts/failure';
import { Card, Loading, PageView } from '../parts/page';
import { addressOf, routes } from '../routes';
import { texts } from '../texts';
import { FetchedFile } from './fetched-file';
import { FetchOutcomeText } from './source-fetches';

/** Shows the result of the last fetch of a source, and enables the source. */
export function SourceTestView({ path }: { path: SourcePath }) {
  const source = useSource(path);
  const last = useLastFetch(path);
  const fetchNow = useFetchNow();
  const error = source.error ?? last.error ?? fetchNow.error;
  const retry = () => {
    const failed = [source, last].filter((asked) => asked.error);
    if (failed.length === 0) fetchNow.mutate(path);
    for (const asked of failed) void asked.refetch();
  };
  const feedId = !isInProgress(last.data) && last.data?.feed_id;
  return (
    <PageView
      title={texts.sources.testTitle(path.source_name)}
      trail={[
        { text: texts.sources.title, href: routes.sources },
        { text: path.partner_name, href: addressOf('partner', { partner: path.partner_name }) },
      ]}
      actions={
        <Link className="button" href={addressOfSource(path)}>
          {texts.sources.toSource}
        </Link>
      }
    >
      {error && <FailureNotice error={error} retry={retry} />}
      {last.data && <Outcome path={path} fetch={last.data} onRepeat={() => fetchNow.mutate(path)} />}
      {last.data === null && (
        <Card>
          <p>{texts.fetches.none}</p>
          <Action kind="primary" onPress={() => fetchNow.mutate(path)}>
            {texts.sources.fetchNow}
          </Action>
        </Card>
      )}
      {feedId && <FetchedFile feedId={feedId} />}
      {feedId && source.data && <SwitchOn source={source.data} />}
      {!error && (source.isPending || last.isPending) && <Loading />}
    </PageView>
  );
}

interface OutcomeOptions {
  path: SourcePath;
  fetch: Schemas['SourceFetch'];
  onRepeat: () => void;
}

/** The end of the fetch, and remedies for a failed one. */
function Outcome({ path, fetch, onRepeat }: OutcomeOptions) {
  const wishes = useWishes();
  const hasFailed = fetch.status === 'failed' || (fetch.status === 'queued' && fetch.attempts > 0);
  if (!hasFailed)
    return (
      <div role="status" className={`notice ${fetch.feed_id ? 'good' : ''}`}>
        <FetchOutcomeText fetch={fetch} />
      </div>
    );
  return (
    <div role="alert" className="notice bad">
      <h2>{texts.sources.notFetched}</h2>
      <FetchOutcomeText fetch={fetch} />
      <p>{texts.sources.notFetchedWay}</p>
      <div className="actions">
        <Link className="button" href={addressOfSource(path, 'edit', wishes)}>
          {texts.sources.edit}
        </Link>
        <Action onPress={onRepeat}>{texts.again}</Action>
        <Link className="button" href={addressOf('send', { partner: path.partner_name })}>
          {texts.sources.sendInstead}
        </Link>
      </div>
    </div>
  );
}

/** Ends the test: the source is fetched on its schedule, and feeds are run, unless the form in the address disabled that. */
function SwitchOn({ source }: { source: Schemas['Source'] }) {
  const [, navigate] = useLocation();
  const [read] = useFilters();
  const wishes = useWishes();
  const save = useSaveSource();
  const { definition } = source;
  const isTested = !definition.run_after_fetch && !definition.is_enabled;
  const wish = (name: string, current: boolean) =>
    (read(name) || (isTested || current ? 'yes' : 'no')) === 'yes';
  const run = wish('run', definition.run_after_fetch);
  const isEnabled = wish('enabled', definition.is_enabled);
  const isOn = (definition.run_after_fetch || !run) && (definition.is_enabled || !isEnabled);
  if (isOn) return null;
  const { schedule } = definition;
  return (
    <Card title={texts.sources.switchOnTitle}>
      <ul>
        {isEnabled && (
          <li>
            {schedule
              ? texts.sources.willFetch(scheduleInWords(schedule.cron), schedule.time_zone)
              : texts.sources.willWait}
          </li>
        )}
        <li>{run ? texts.sources.willRun : texts.sources.willStore}</li>
      </ul>
      {save.error && <FailureNotice error={save.error} />}
      <div className="actions">
        <Action
          kind="primary"
          isDisabled={save.isPending}
          onPress={() =>
            save.mutate(
              {
                path: pathOf(source),
                definition: { ...definition, run_after_fetch: run, is_enabled: isEnabled },
              },
              { onSuccess: (saved) => navigate(addressOfSource(saved)) },
            )
          }
        >
          {texts.sources.switchOn}
        </Action>
        <Link className="button" href={addressOfSource(source, 'edit', wishes)}>
          {texts.sources.edit}
        </Link>
      </div>
    </Card>
  );
}

/** Values of the form that its test has disabled. */
function useWishes() {
  const [read] = useFilters();
  return { run: read('run'), enabled: read('enabled') };
}

const pathOf = ({ partner_name, source_name }: Schemas['Source']): SourcePath => ({
  partner_name,
  source_name,
});
