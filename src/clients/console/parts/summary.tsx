import type { Schemas } from '../api';
import { count } from '../locale';
import { texts } from '../texts';

const always = ['processed', 'inserted', 'updated', 'unchanged', 'skipped'] as const;
const ifAny = ['withdrawn', 'restored'] as const;

/** The counts of a run, with each product in one of them: the service also counts restored ones as updated. */
export function Summary({ summary }: { summary: Schemas['RunSummary'] }) {
  const shown = { ...summary, updated: summary.updated - summary.restored };
  const names = [...always, ...ifAny.filter((name) => summary[name] > 0)];
  return (
    <dl className="counts">
      {names.map((name) => (
        <div key={name} className={name === 'skipped' && summary.skipped > 0 ? 'count bad' : 'count'}>
          <dt>{texts.counts[name]}</dt>
          <dd>{count(shown[name])}</dd>
        </div>
      ))}
    </dl>
  );
}

/** @param isUndone - whether its changes were undone */
export function Status({ status, isUndone }: { status: string; isUndone?: boolean }) {
  if (isUndone) return <span className="badge watch">{texts.runs.undone}</span>;
  const kinds: Record<string, string> = { failed: 'bad', completed: 'good', processed: 'good' };
  return <span className={`badge ${kinds[status] ?? ''}`}>{texts.statuses[status] ?? status}</span>;
}
