import type { ReactNode } from 'react';

interface Options {
  /** Description of the table, for screen readers. */
  label: string;
  columns: { title: string; isNumber?: boolean }[];
  children: ReactNode;
}

/** A table that scrolls sideways if it is wider than its place: the cells of a file, as they are. */
export function ScrollTable({ label, columns, children }: Options) {
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
