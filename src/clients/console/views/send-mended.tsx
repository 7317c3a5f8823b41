import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useLayoutEffect, useRef } from 'react';
import { useLocation } from 'wouter';
import { mendedFields, mendedFile } from '../../../feed-format/write/mended-feed';
import type { Schemas } from '../api';
import type { KeptEdits } from '../data/edits';
import { tallyOf, type MendedRows } from '../data/mend-tools';
import { countCells, withoutSent, type Mending } from '../data/mending';
import { fetchRejects } from '../data/rejects';
import { fetchLastLoad } from '../data/runs';
import { requestUpload } from '../data/upload';
import { useTransfer } from '../data/use-transfer';
import { Action } from '../parts/action';
import { Download } from '../parts/download';
import { FailureNotice } from '../parts/failure';
import { addressOf } from '../routes';
import { texts } from '../texts';

interface SendOptions extends Omit<MendedRows, 'edits'> {
  feed: Schemas['Feed'];
  run: number;
  mending: Mending;
  keep: KeptEdits['keep'];
}

/** Stores the changed rows that would be loaded as a separate feed, and opens the preview of its run. */
export function useSendMended({ feed, run, rejects, checker, mending, keep }: SendOptions) {
  const [, navigate] = useLocation();
  const queries = useQueryClient();
  const transfer = useTransfer();
  const jobId = feed.validation_job_id;
  const { edits } = mending;
  const tally = useTally({ rejects, checker, edits }, jobId);
  const latest = useRef(edits);
  useLayoutEffect(() => {
    latest.current = edits;
  }, [edits]);
  const request = useMutation({
    mutationFn: async () => {
      // The tally of the view can be older than the last cell.
      const { ready: sent } = await tallyOf({ rejects, checker, edits: latest.current });
      if (Object.keys(sent).length === 0) return null;
      if ((await fetchLastLoad(jobId)) !== run) {
        // While the new run is in progress, its number is not final.
        await queries.invalidateQueries({ queryKey: ['job', jobId] });
        await queries.invalidateQueries({ queryKey: ['last-load', jobId] });
        return null;
      }
      const text = mendedFile(rejects.head, await rejects.mended(sent), rejects.definition);
      const file = new File([text], `mended-${feed.feed_id}.csv`, { type: 'text/csv' });
      const mended = { partner: feed.partner_name, file, ...mendedFields(feed) };
      return { sent, receipt: await requestUpload(mended, transfer.keyFor([run, sent]), transfer.begin()) };
    },
    onSuccess: (stored) => {
      if (!stored) return;
      const { receipt, sent } = stored;
      keep((before) => withoutSent(before, sent));
      navigate(addressOf('feed', { feed: receipt.feed_id, step: 'plan' }));
    },
  });
  const isPossible = !request.isPending && tally !== undefined && Object.keys(tally.ready).length > 0;
  return {
    tally,
    isPossible,
    isPending: request.isPending,
    error: request.error,
    start: () => {
      if (!request.isPending) request.mutate();
    },
  };
}

/** The changed rows by what a run would do with them; undefined until they are checked. */
function useTally(rows: MendedRows, jobId: string) {
  const { data } = useQuery({
    // The checker belongs to the rejects of a run, and changes are new objects.
    queryKey: ['tally', jobId, keyOf(rows.checker), keyOf(rows.edits)],
    queryFn: () => tallyOf(rows),
    placeholderData: keepPreviousData,
    gcTime: 0,
  });
  return data;
}

const keys = new WeakMap<object, number>();
let lastKey = 0;

/** Returns a number for an object, as the key of a query. */
function keyOf(object: object): number {
  if (!keys.has(object)) keys.set(object, ++lastKey);
  return keys.get(object)!;
}

interface BarOptions {
  feed: Schemas['Feed'];
  send: ReturnType<typeof useSendMended>;
  mending: Mending;
  areStored: boolean;
}

/** What is changed and would be sent, and the button that sends it. */
export function SendMended({ feed, send, mending: { edits }, areStored }: BarOptions) {
  const { tally, isPossible, isPending, error } = send;
  const changed = countCells(edits);
  const isAnyChanged = Object.keys(edits).length > 0;
  const facts = [
    texts.issues.edited(changed),
    ...(changed > 0 && tally ? [texts.issues.ready(Object.keys(tally.ready).length)] : []),
    ...(tally?.wrong ? [texts.issues.wrong(tally.wrong)] : []),
    ...(tally?.dropped ? [texts.issues.dropped(tally.dropped)] : []),
  ];
  return (
    <>
      {error && <FailureNotice error={error} />}
      <div className="actions">
        <Action kind="primary" isDisabled={!isPossible} onPress={send.start}>
          {isPending ? texts.issues.sending : texts.issues.send}
        </Action>
        <span role="status" className="muted">
          {facts.join(' · ')}
        </span>
        <Download
          name={`${feed.feed_id}-rejects.csv`}
          fetchFile={async () => (await fetchRejects(feed)).file}
        >
          {texts.issues.download}
        </Download>
      </div>
      {isAnyChanged && (
        <p className={areStored ? 'muted' : 'notice'}>
          {areStored ? texts.issues.kept : texts.issues.notKept}
        </p>
      )}
    </>
  );
}
