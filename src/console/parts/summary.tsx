import type { Schemas } from '../api';
import { count } from '../locale';
import { texts } from '../texts';

const always = ['processed', 'inserted', 'updated', 'unchanged', 'skipped'] as const;
const ifAny = ['withdrawn', 'restored'] as const;

/** The counts of a run. */
export function Summary({ summary }: { summary: Schemas['RunSummary'] }) {
  const names = [...always, ...ifAny.filter((name) => summary[name] > 0)];
  return (
    <dl className="counts">
      {names.map((name) => (
        <div key={name} className={name === 'skipped' && summary.skipped > 0 ? 'count bad' : 'count'}>
          <dt>{texts.counts[name]}</dt>
          <dd>{count(summary[name])}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Status({ status }: { status: string }) {
  const kinds: Record<string, string> = { failed: 'bad', completed: 'good', processed: 'good' };
  return <span className={`badge ${kinds[status] ?? ''}`}>{texts.statuses[status] ?? status}</span>;
}
