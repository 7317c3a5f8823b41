import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useLocation } from 'wouter';
import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import { usePages } from '../data/queries';
import { Action } from '../parts/action';
import { Changes } from '../parts/changes';
import { Confirm } from '../parts/confirm';
import { Empty } from '../parts/empty';
import { FailureNotice } from '../parts/failure';
import { List } from '../parts/query';
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
  const queries = useQueryClient();
  const revert = async (query: {
    dry_run?: boolean;
    on_conflict?: Schemas['ConflictHandling'];
    cursor?: string;
  }) => {
    const params = { path: { job_id: feed.validation_job_id }, query: { run, ...query } };
    const body = await bodyOf(client.POST('/jobs/{job_id}/revert', { params }));
    return { ...body, items: body.items ?? [] };
  };
  const preview = usePages(['revert', feed.validation_job_id, run], (cursor) =>
    revert({ dry_run: true, on_conflict: 'skip', cursor }),
  );
  const first = preview.data?.pages[0];
  const conflicts = first?.conflicts ?? [];
  const undo = useMutation({
    mutationFn: () => revert({ on_conflict: conflicts.length > 0 ? 'skip' : 'fail' }),
    onSuccess: async () => {
      // The preview of an undone run is refused.
      await queries.invalidateQueries({ predicate: ({ queryKey: [of] }) => of !== 'revert' });
      navigate(addressOf('feed', { feed: feed.feed_id, step: 'runs' }));
    },
  });
  return (
    <Confirm
      title={texts.runs.revertTitle(run)}
      isOpen
      onClose={onClose}
      actions={
        <Action kind="danger" isDisabled={!first || undo.isPending} onPress={() => undo.mutate()}>
          {conflicts.length > 0 ? texts.runs.revertSkip : texts.runs.revertAll}
        </Action>
      }
    >
      <p>{texts.runs.revertLead}</p>
      {undo.error && <FailureNotice error={undo.error} />}
      {first?.summary && <Summary summary={first.summary} />}
      {conflicts.length > 0 && <Conflicts conflicts={conflicts} all={first!.summary!.skipped} />}
      <List of={preview} empty={<Empty title={texts.runs.noUndo} />}>
        {(items) => <Changes items={items} label={texts.runs.revertTitle(run)} />}
      </List>
    </Confirm>
  );
}

interface ConflictsOptions {
  conflicts: Schemas['RevertConflict'][];
  /** Number of all, as the list contains the first ones. */
  all: number;
}

function Conflicts({ conflicts, all }: ConflictsOptions) {
  const more = all - conflicts.length;
  return (
    <div className="notice">
      <h3>{texts.runs.conflicts}</h3>
      <p>{texts.runs.conflictsLead}</p>
      <ul className="skus">
        {conflicts.map(({ product_id, sku }) => (
          <li key={product_id}>
            <Value>{sku}</Value>
          </li>
        ))}
        {more > 0 && <li>{texts.runs.moreConflicts(more)}</li>}
      </ul>
    </div>
  );
}
