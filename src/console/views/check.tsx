import { useQuery } from '@tanstack/react-query';
import { Link, Redirect } from 'wouter';
import type { Schemas } from '../api';
import { addressOf, routes } from '../data/address';
import { useDraft, type Draft } from '../data/draft';
import { inspectFeed } from '../data/upload';
import { Failure } from '../parts/failure';
import { Card, Loading, Page } from '../parts/page';
import { Value } from '../parts/value';
import { texts } from '../texts';
import { ReadingForm } from './reading-form';

/** Shows what the chosen file is, before anything is stored. */
export function CheckView() {
  const draft = useDraft();
  if (draft.data?.partner === '') return <Redirect to={routes.send} replace />;
  if (draft.data === null)
    return (
      <Page title={texts.check.lost}>
        <p>{texts.check.lostWay}</p>
        <Link href={routes.send} className="button primary">
          {texts.send.choose}
        </Link>
      </Page>
    );
  return <Page title={texts.check.title}>{draft.data ? <Inspected draft={draft.data} /> : <Loading />}</Page>;
}

function Inspected({ draft }: { draft: Draft }) {
  const { partner, file } = draft;
  const inspection = useQuery({
    queryKey: ['inspection', partner, file.name, file.size, file.lastModified],
    queryFn: () => inspectFeed(partner, file),
    gcTime: 0,
  });
  if (inspection.error)
    return (
      <>
        <Failure error={inspection.error} retry={() => void inspection.refetch()} />
        <Link href={addressOf('send', { partner })} className="button">
          {texts.back}
        </Link>
      </>
    );
  if (!inspection.data) return <Loading />;
  const { accepted, hint, refusal, suggested_format, draft_format } = inspection.data;
  return (
    <>
      <Facts draft={draft} inspection={inspection.data} />
      {accepted || suggested_format || draft_format ? (
        <ReadingForm draft={draft} inspection={inspection.data} />
      ) : (
        <div role="alert" className="notice bad">
          <h2>{texts.check.noTable}</h2>
          <p>
            <Value>{hint?.message ?? refusal}</Value>
          </p>
          <Link href={addressOf('send', { partner })} className="button">
            {texts.send.choose}
          </Link>
        </div>
      )}
    </>
  );
}

function Facts({ draft, inspection }: { draft: Draft; inspection: Schemas['FeedInspection'] }) {
  const { detected_encoding, delimiter, decimal_separator, skip_lines, row_count, complete } = inspection;
  const facts: [string, string | null][] = [
    [texts.send.partner, draft.partner],
    [texts.feed.file, draft.file.name],
    [texts.check.encoding, detected_encoding],
    [texts.check.delimiter, delimiter && (texts.check.delimiters[delimiter] ?? delimiter)],
    [
      texts.check.decimal,
      decimal_separator && (texts.check.decimals[decimal_separator] ?? decimal_separator),
    ],
    ...(skip_lines > 0 ? ([[texts.check.skipped, String(skip_lines)]] as [string, string][]) : []),
    [texts.counts.processed!, texts.check.rows(row_count, complete)],
  ];
  return (
    <Card>
      <dl className="facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <Value>{value}</Value>
            </dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}
