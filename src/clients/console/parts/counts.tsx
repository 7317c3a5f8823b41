import type { ReactNode } from 'react';

export interface Count {
  title: string;
  value: ReactNode;
  /** Below the figure: what it is compared with. */
  note?: ReactNode;
  isBad?: boolean;
}

/** Figures beside each other, each with its title. */
export function Counts({ counts }: { counts: Count[] }) {
  return (
    <dl className="counts">
      {counts.map(({ title, value, note, isBad }) => (
        <div key={title} className={isBad ? 'count bad' : 'count'}>
          <dt>{title}</dt>
          <dd>{value}</dd>
          {note && <dd className="count-note">{note}</dd>}
        </div>
      ))}
    </dl>
  );
}
