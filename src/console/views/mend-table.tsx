import { useMutation } from '@tanstack/react-query';
import { useLocation } from 'wouter';
import type { Schemas } from '../api';
import { saveFile } from '../api';
import { addressOf, useFilters } from '../data/address';
import { fetchRejects, mendedFile, useEdits, useRejects, type Rejects } from '../data/rejects';
import { runJob, uploadFeed } from '../data/upload';
import { useTransfer } from '../data/use-transfer';
import { Action } from '../parts/action';
import { Failure } from '../parts/failure';
import { Card, Loading } from '../parts/page';
import { Table } from '../parts/table';
import { Value } from '../parts/value';
import { texts } from '../texts';

const pageSize = 50;

interface Options {
  feed: Schemas['Feed'];
  /** Those that skipped a row. */
  issues: Schemas['RowIssue'][];
  /** The reason whose rows are shown; empty: all. */
  code: string;
}

/** The skipped rows as they were sent, with the cells marked that are the reason, to be corrected in place. */
export function MendTable({ feed, issues, code }: Options) {
  const [, navigate] = useLocation();
  const [read, write] = useFilters();
  const [edits, keepEdits] = useEdits(feed.feed_id);
  const rejects = useRejects(feed, true);
  const transfer = useTransfer();
  const send = useMutation({
    mutationFn: async (rows: Rejects) => {
      const { partner_name: partner, collection, format_name } = feed;
      const file = mendedFile(feed.feed_id, rows, edits);
      // The format that a partner has saved as its default since would read the rows in another way.
      const mended = { partner, collection, file, format: format_name ?? 'standard' };
      const receipt = await uploadFeed(mended, transfer.keyFor(edits));
      await runJob(receipt.validation_job_id);
      keepEdits({});
      return receipt;
    },
    onSuccess: ({ feed_id }) => navigate(addressOf('feed', { feed: feed_id, step: 'run' })),
  });
  if (rejects.error) return <Failure error={rejects.error} retry={() => void rejects.refetch()} />;
  if (!rejects.data) return <Loading />;
  const found = placed(rejects.data, issues).filter(
    ({ reasons }) => code === '' || reasons.some((issue) => issue.code === code),
  );
  if (found.length === 0) return null;
  const pages = Math.ceil(found.length / pageSize);
  const page = Math.min(Math.max(Number(read('page')) || 1, 1), pages);
  const changed = Object.keys(edits).length;
  return (
    <Card title={texts.issues.mend}>
      <p>{texts.issues.mendLead}</p>
      <EditTable
        rejects={rejects.data}
        rows={found.slice((page - 1) * pageSize, page * pageSize)}
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
      {send.error && <Failure error={send.error} />}
      <div className="actions">
        <Action
          kind="primary"
          isDisabled={changed === 0 || send.isPending}
          onPress={() => send.mutate(rejects.data)}
        >
          {send.isPending ? texts.issues.sending : texts.issues.send}
        </Action>
        <Action isDisabled={changed === 0} onPress={() => keepEdits({})}>
          {texts.issues.discard}
        </Action>
        <Action
          onPress={() =>
            void fetchRejects(feed).then((file) => saveFile(file, `${feed.feed_id}-rejects.csv`))
          }
        >
          {texts.issues.download}
        </Action>
        <span role="status" className="muted">
          {texts.issues.edited(changed)}
        </span>
      </div>
    </Card>
  );
}

/** A skipped row: its place among the rejects, its line in the feed, and why it was skipped. */
interface PlacedRow {
  at: number;
  line: string;
  reasons: Schemas['RowIssue'][];
}

/** Finds the issues of each row by its line. */
function placed({ rows }: Rejects, issues: Schemas['RowIssue'][]): PlacedRow[] {
  const byLine = Map.groupBy(issues, ({ line }) => String(line));
  return rows.map((row, at) => {
    const line = row[0] ?? '';
    return { at, line, reasons: byLine.get(line) ?? [] };
  });
}

interface EditOptions {
  rejects: Rejects;
  rows: PlacedRow[];
  edits: Record<string, string>;
  onEdit: (place: string, value: string, original: string) => void;
}

function EditTable({ rejects, rows, edits, onEdit }: EditOptions) {
  const { header, generated } = rejects;
  const width = Math.max(header.length, ...rows.map(({ at }) => rejects.rows[at]!.length)) - generated;
  const names = Array.from(
    { length: width },
    (_, column) => header[generated + column] ?? String(column + 1),
  );
  const titles = [texts.issues.line, texts.issues.reason, ...names.map((name, at) => name || String(at + 1))];
  return (
    <Table label={texts.issues.mend} columns={titles.map((title) => ({ title }))}>
      {rows.map(({ at, line, reasons }) => (
        <tr key={at}>
          <th scope="row" className="line">
            {line}
          </th>
          <td className="reason">
            {reasons.map(({ message }, reason) => (
              <p key={reason}>
                <Value>{message}</Value>
              </p>
            ))}
          </td>
          {names.map((name, column) => {
            const place = `${at}/${generated + column}`;
            const original = rejects.rows[at]![generated + column];
            if (original === undefined) return <td key={column} />;
            const isMarked = reasons.some(
              (issue) => (issue.column_number ?? names.indexOf(issue.field ?? '') + 1) === column + 1,
            );
            return (
              <td key={column}>
                <Cell
                  label={texts.issues.cell(name, line)}
                  isMarked={isMarked}
                  original={original}
                  edited={edits[place]}
                  onEdit={(value) => onEdit(place, value, original)}
                />
              </td>
            );
          })}
        </tr>
      ))}
    </Table>
  );
}

interface CellOptions {
  label: string;
  /** Whether the value is why the row was skipped. */
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
  // A field of one line would remove the line breaks of a value.
  if (original.includes('\n')) return <textarea {...common} rows={2} cols={30} />;
  return <input {...common} size={Math.min(Math.max(original.length, 8), 40)} />;
}
