import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useMemo } from 'react';
import { Link, useLocation } from 'wouter';
import { mendedFields, mendedFile } from '../../../feed-format/write/mended-feed';
import type { Schemas } from '../api';
import { useFilters } from '../data/address';
import type { Edits, KeptEdits } from '../data/edits';
import {
  fetchRejects,
  useFormatChange,
  useRejectedRows,
  useRejects,
  type RejectedRow,
  type Rejects,
} from '../data/rejects';
import { fetchLastLoad, useNewerFeed } from '../data/runs';
import { requestUpload } from '../data/upload';
import { useTransfer } from '../data/use-transfer';
import { Action } from '../parts/action';
import { Download } from '../parts/download';
import { FailureNotice } from '../parts/failure';
import { Card, Loading } from '../parts/page';
import { ScrollTable } from '../parts/scroll-table';
import { Value } from '../parts/value';
import { addressOf } from '../routes';
import { texts } from '../texts';

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
export function MendTable({ feed, code, run, kept: { edits, keepEdits } }: Options) {
  const [read, write] = useFilters();
  const newerFeed = useNewerFeed(feed);
  const formatChange = useFormatChange(feed);
  const rejects = useRejects(feed, run);
  const places = useMemo(() => rejects.data?.rows.placesOf(code) ?? [], [rejects.data, code]);
  const pages = Math.max(Math.ceil(places.length / pageSize), 1);
  const page = Math.min(Math.max(Number(read('page')) || 1, 1), pages);
  const shown = places.slice((page - 1) * pageSize, page * pageSize);
  const rows = useRejectedRows(feed, run, rejects.data, shown);
  const error = rejects.error ?? rows.error;
  if (error) return <FailureNotice error={error} retry={() => void rejects.refetch()} />;
  if (!rejects.data || !rows.data) return <Loading />;
  // Files of rejects do not contain rows that are too long.
  if (places.length === 0) return null;
  return (
    <Card title={texts.issues.mend}>
      <p>{texts.issues.mendLead}</p>
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
      <EditTable
        rejects={rejects.data}
        rows={rows.data}
        edits={edits}
        onEdit={(place, value, original) => {
          const { [place]: _, ...others } = edits;
          keepEdits(value === original ? others : { ...others, [place]: value });
        }}
      />
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
      <Send
        feed={feed}
        run={run}
        rejects={rejects.data}
        edits={edits}
        onDone={(done) =>
          keepEdits(Object.fromEntries(Object.entries(edits).filter(([place, text]) => done[place] !== text)))
        }
      />
    </Card>
  );
}

interface SendOptions {
  feed: Schemas['Feed'];
  run: number;
  rejects: Rejects;
  edits: Edits;
  /** Called when these edits are stored or discarded. */
  onDone: (edits: Edits) => void;
}

/** Stores the changed rows as a separate feed, and opens the preview of its run. */
function Send({ feed, run, rejects, edits, onDone }: SendOptions) {
  const [, navigate] = useLocation();
  const queries = useQueryClient();
  const transfer = useTransfer();
  const jobId = feed.validation_job_id;
  const send = useMutation({
    mutationFn: async (sent: Edits) => {
      if ((await fetchLastLoad(jobId)) !== run) {
        // While the new run is in progress, its number is not final.
        await queries.invalidateQueries({ queryKey: ['job', jobId] });
        await queries.invalidateQueries({ queryKey: ['last-load', jobId] });
        return null;
      }
      const text = mendedFile(rejects.head, await rejects.readMended(sent), rejects.definition);
      const file = new File([text], `mended-${feed.feed_id}.csv`, { type: 'text/csv' });
      const mended = { partner: feed.partner_name, file, ...mendedFields(feed) };
      return requestUpload(mended, transfer.keyFor([run, sent]), transfer.begin());
    },
    onSuccess: (receipt, sent) => {
      if (!receipt) return;
      onDone(sent);
      navigate(addressOf('feed', { feed: receipt.feed_id, step: 'plan' }));
    },
  });
  const changed = Object.keys(edits).length;
  return (
    <>
      {send.error && <FailureNotice error={send.error} />}
      <div className="actions">
        <Action
          kind="primary"
          isDisabled={changed === 0 || send.isPending}
          onPress={() => send.mutate(edits)}
        >
          {send.isPending ? texts.issues.sending : texts.issues.send}
        </Action>
        <Action isDisabled={changed === 0 || send.isPending} onPress={() => onDone(edits)}>
          {texts.issues.discard}
        </Action>
        <Download
          name={`${feed.feed_id}-rejects.csv`}
          fetchFile={async () => (await fetchRejects(feed)).file}
        >
          {texts.issues.download}
        </Download>
        <span role="status" className="muted">
          {texts.issues.edited(changed)}
        </span>
      </div>
    </>
  );
}

interface EditOptions {
  rejects: Rejects;
  rows: RejectedRow[];
  edits: Edits;
  onEdit: (place: string, value: string, original: string) => void;
}

function EditTable({ rejects, rows, edits, onEdit }: EditOptions) {
  const { header, generated } = rejects.head;
  const width = Math.max(header.length, ...rows.map(({ cells }) => cells.length));
  const names = Array.from(
    { length: width - generated },
    (_, at) => header[generated + at] || String(at + 1),
  );
  const titles = [texts.issues.line, texts.issues.reason, ...names];
  return (
    <ScrollTable label={texts.issues.mend} columns={titles.map((title) => ({ title }))}>
      {rows.map(({ line, messages, cells, faulty }) => (
        <tr key={line}>
          <th scope="row" className="line">
            {line}
          </th>
          <td className="reason">
            <Value>{messages}</Value>
          </td>
          {names.map((name, at) => {
            const column = generated + at;
            const place = `${line}/${column}`;
            // A row that is too short can be completed; only a row that is too long has cells after the last column.
            const original = cells[column] ?? (column < header.length ? '' : undefined);
            if (original === undefined) return <td key={column} />;
            return (
              <td key={column}>
                <Cell
                  label={texts.issues.cell(name, line)}
                  isMarked={faulty.includes(column)}
                  original={original}
                  edited={edits[place]}
                  onEdit={(value) => onEdit(place, value, original)}
                />
              </td>
            );
          })}
        </tr>
      ))}
    </ScrollTable>
  );
}

interface CellOptions {
  label: string;
  /** Whether the value caused the rejection of the row. */
  isMarked: boolean;
  original: string;
  /** Undefined while the cell is unchanged. */
  edited: string | undefined;
  onEdit: (value: string) => void;
}

function Cell({ label, isMarked, original, edited, onEdit }: CellOptions) {
  const common = {
    className: `cell ${isMarked ? 'marked' : ''} ${edited === undefined ? '' : 'edited'}`,
    'aria-label': label,
    'aria-invalid': isMarked && edited === undefined,
    dir: 'auto',
    value: edited ?? original,
    onChange: ({ target }: { target: { value: string } }) => onEdit(target.value),
  };
  // A single-line field would remove the line breaks of a value.
  if (original.includes('\n')) return <textarea {...common} rows={2} cols={30} />;
  return <input {...common} size={Math.min(Math.max(original.length, 8), 40)} />;
}
