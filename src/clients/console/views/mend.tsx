import { useId, useMemo, useState } from 'react';
import { Link } from 'wouter';
import type { Schemas } from '../api';
import { useFilters } from '../data/address';
import type { KeptEdits } from '../data/edits';
import { useFormatChange, useRejectedRows, useRejects, type Rejects } from '../data/rejects';
import { RowChecker } from '../data/row-checker';
import { useNewerFeed } from '../data/runs';
import { Action } from '../parts/action';
import { Card } from '../parts/page';
import { Query } from '../parts/query';
import { addressOf } from '../routes';
import { texts } from '../texts';
import { MendDetail } from './mend-detail';
import { MendGrid } from './mend-grid';
import { MendTools } from './mend-tools';
import { SendMended, useSendMended } from './send-mended';
import { useMendGrid } from './use-mend-grid';

const pageSize = 50;

interface Options {
  feed: Schemas['Feed'];
  /** The selected reason of the rows; empty: all. */
  code: string;
  /** The last load. */
  run: number;
  kept: KeptEdits;
}

/** The skipped rows as sent, with marked faulty cells, which can be corrected in place. */
export function Mend(options: Options) {
  const rejects = useRejects(options.feed, options.run);
  // Files of rejects do not contain rows that are too long.
  return (
    <Query of={rejects}>
      {(data) => data.rows.placesOf(options.code).length > 0 && <MendRows {...options} rejects={data} />}
    </Query>
  );
}

function MendRows({ feed, code, run, kept, rejects }: Options & { rejects: Rejects }) {
  const [read, write] = useFilters();
  const { mending, keep } = kept;
  const { edits } = mending;
  const detail = useId();
  const { head } = rejects;
  const checker = useMemo(
    () => new RowChecker(head, rejects.definition, feed.mode, texts.issues),
    [head, rejects, feed.mode],
  );
  const places = useMemo(() => rejects.rows.placesOf(code), [rejects, code]);
  const pages = Math.ceil(places.length / pageSize);
  const page = Math.min(Math.max(Number(read('page')) || 1, 1), pages);
  const first = (page - 1) * pageSize;
  const [width, setWidth] = useState(head.header.length);
  const rows = useRejectedRows(feed, run, rejects, places.slice(first, first + pageSize));
  const shown = rows.isPlaceholderData ? [] : (rows.data ?? []);
  const widest = Math.max(head.header.length, ...shown.map(({ cells }) => cells.length));
  if (widest > width) setWidth(widest);
  const names = Array.from(
    { length: width - head.generated },
    (_, at) => head.header[head.generated + at] || String(at + 1),
  );
  const send = useSendMended({ feed, run, rejects, checker, mending, keep });
  const grid = useMendGrid({
    rejects,
    checker,
    edits,
    mending,
    places,
    page: shown,
    first,
    pageSize,
    keep,
    onPage: (next) => write({ page: String(next) }),
    onSend: send.start,
  });
  return (
    <Card title={texts.issues.mend}>
      <p>{texts.issues.mendLead}</p>
      <Notices feed={feed} />
      <MendTools
        grid={grid}
        mending={mending}
        names={names}
        generated={head.generated}
        rows={places.length}
      />
      <MendDetail id={detail} grid={grid} names={names} generated={head.generated} edits={edits} />
      <Query of={rows}>
        {() => (
          <MendGrid
            rows={grid.states}
            names={names}
            generated={head.generated}
            edits={edits}
            active={grid.active}
            end={grid.end}
            draft={grid.draft}
            focusKey={grid.focusKey}
            detail={detail}
            {...grid.actions}
          />
        )}
      </Query>
      {pages > 1 && (
        <div className="actions">
          <Action isDisabled={page === 1} onPress={() => write({ page: String(page - 1) })}>
            {texts.issues.previous}
          </Action>
          <span>{texts.issues.page(page, pages)}</span>
          <Action isDisabled={page === pages} onPress={() => write({ page: String(page + 1) })}>
            {texts.issues.next}
          </Action>
        </div>
      )}
      <SendMended feed={feed} send={send} mending={mending} areStored={kept.areStored} />
    </Card>
  );
}

function Notices({ feed }: Pick<Options, 'feed'>) {
  const newerFeed = useNewerFeed(feed);
  const formatChange = useFormatChange(feed);
  return (
    <>
      {newerFeed && (
        <p role="status" className="notice">
          {texts.issues.newerFeed}{' '}
          <Link href={addressOf('feed', { feed: newerFeed, step: 'run' })}>{newerFeed}</Link>
        </p>
      )}
      {formatChange && (
        <p role="status" className="notice">
          {texts.issues.formats[formatChange](feed.format_name!)}{' '}
          <Link href={addressOf('partner', { partner: feed.partner_name })}>{texts.issues.toFormats}</Link>
        </p>
      )}
    </>
  );
}
