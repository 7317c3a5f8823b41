import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import { Action } from '../parts/action';
import { Changes } from '../parts/changes';
import { Confirm } from '../parts/confirm';
import { FailureNotice } from '../parts/failure';
import { Loading } from '../parts/page';
import { Summary } from '../parts/summary';
import { Value } from '../parts/value';
import { addressOf } from '../routes';
import { texts } from '../texts';

interface Options {
  feed: Schemas['Feed'];
  run: number;
  onClose: () => void;
}

/** Shows a preview of undoing a run, and undoes it. */
export function RevertDialog({ feed, run, onClose }: Options) {
  const [, navigate] = useLocation();
  const [action, setAction] = useState('');
  const queries = useQueryClient();
  const revert = (query: { dry_run?: boolean; on_conflict?: Schemas['ConflictHandling'] }) =>
    bodyOf(
      client.POST('/jobs/{job_id}/revert', {
        params: { path: { job_id: feed.validation_job_id }, query: { run, ...query } },
      }),
    );
  const preview = useQuery({
    queryKey: ['revert', feed.validation_job_id, run],
    queryFn: () => revert({ dry_run: true, on_conflict: 'skip' }),
    gcTime: 0,
  });
  const undo = useMutation({
    mutationFn: () => revert({ on_conflict: conflicts.length > 0 ? 'skip' : 'fail' }),
    onSuccess: async () => {
      // The preview of an undone run is refused.
      await queries.invalidateQueries({ predicate: ({ queryKey: [of] }) => of !== 'revert' });
      navigate(addressOf('feed', { feed: feed.feed_id, step: 'runs' }));
    },
  });
  const conflicts = preview.data?.conflicts ?? [];
  return (
    <Confirm
      title={texts.runs.revertTitle(run)}
      isOpen
      onClose={onClose}
      actions={
        <Action kind="danger" isDisabled={!preview.data || undo.isPending} onPress={() => undo.mutate()}>
          {conflicts.length > 0 ? texts.runs.revertSkip : texts.runs.revertAll}
        </Action>
      }
    >
      <p>{texts.runs.revertLead}</p>
      {preview.isPending && <Loading />}
      {preview.error && <FailureNotice error={preview.error} retry={() => void preview.refetch()} />}
      {undo.error && <FailureNotice error={undo.error} />}
      {preview.data?.summary && <Summary summary={preview.data.summary} />}
      {conflicts.length > 0 && (
        <div className="notice">
          <h3>{texts.runs.conflicts}</h3>
          <p>{texts.runs.conflictsLead}</p>
          <ul>
            {conflicts.map(({ product_id, sku }) => (
              <li key={product_id}>
                <Value>{sku}</Value>
              </li>
            ))}
          </ul>
        </div>
      )}
      {preview.data?.items && (
        <Changes
          items={preview.data.items}
          action={action}
          onFilter={setAction}
          none={texts.runs.noChanges}
          label={texts.runs.revertTitle(run)}
        />
      )}
    </Confirm>
  );
}
