import type { ReactNode } from 'react';

interface Options {
  /** What the table is, for readers of the screen. */
  label: string;
  columns: { title: string; isNumber?: boolean }[];
  children: ReactNode;
}

/** A table that scrolls sideways where it is wider than the screen. */
export function DataTable({ label, columns, children }: Options) {
  return (
    <div className="scroll" role="region" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {columns.map(({ title, isNumber }) => (
              <th key={title} scope="col" className={isNumber ? 'number' : undefined}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
