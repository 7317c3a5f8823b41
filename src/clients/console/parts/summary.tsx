import { Link } from 'wouter';
import type { Schemas } from '../api';
import { countsOf } from '../data/runs';
import { count } from '../locale';
import { texts } from '../texts';
import { Counts } from './counts';

const always = ['processed', 'inserted', 'updated', 'unchanged', 'skipped'] as const;
const ifAny = ['withdrawn', 'restored'] as const;

type CountName = (typeof always | typeof ifAny)[number];

interface Options {
  summary: Schemas['RunSummary'];
  /** The view of the counted ones, or undefined. */
  addressOf?: (name: CountName) => string | undefined;
}

/** The counts of a run, with each product in one of them. */
export function Summary({ summary, addressOf = () => undefined }: Options) {
  const shown = countsOf(summary);
  const names = [...always, ...ifAny.filter((name) => summary[name] > 0)];
  return (
    <Counts
      counts={names.map((name) => {
        const address = shown[name] > 0 && addressOf(name);
        const value = count(shown[name]);
        return {
          title: texts.counts[name]!,
          value: address ? <Link href={address}>{value}</Link> : value,
          isBad: name === 'skipped' && summary.skipped > 0,
        };
      })}
    />
  );
}

/** @param isUndone - whether its changes were undone */
export function Status({ status, isUndone }: { status: string; isUndone?: boolean }) {
  if (isUndone) return <span className="badge watch">{texts.runs.undone}</span>;
  const kinds: Record<string, string> = { failed: 'bad', completed: 'good', processed: 'good' };
  return <span className={`badge ${kinds[status] ?? ''}`}>{texts.statuses[status] ?? status}</span>;
}
