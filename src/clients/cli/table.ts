import Table from 'cli-table3';
import stringWidth from 'string-width';
import { printable } from './printable';

/** A column: its heading and maximum width; longer texts are cut. */
export type TableColumn = readonly [heading: string, widest: number];

/** Minimum width of the last column, which gets the rest. */
const lastWidthMin = 30;
const gap = '  ';

/** Returns the width of the terminal, or one that fits into an email. */
const tableWidth = () => (process.stdout.isTTY ? process.stdout.columns : 120);

/** Formats rows as a table without lines; the `last` column is wrapped instead of cut. Ends with a line break. */
export function textTable(
  columns: readonly TableColumn[],
  last: string,
  rows: readonly (readonly string[])[],
  width = tableWidth(),
): string {
  const head = [...columns.map(([heading]) => heading), last];
  const cells = rows.map((row) => row.map(printable));
  const widths = columns.map(([, widest], at) =>
    Math.min(widest, Math.max(...[head, ...cells].map((row) => stringWidth(row[at]!)))),
  );
  const others = widths.reduce((sum, each) => sum + each + gap.length, 0);
  const table = new Table({
    colWidths: [...widths, Math.max(width - others, lastWidthMin)],
    chars: { ...noLines, middle: gap },
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] },
  });
  table.push(head, ...cells.map((row) => [...row.slice(0, -1), { content: row.at(-1), wordWrap: true }]));
  const lines = table.toString().split('\n');
  return `${lines.map((line) => line.trimEnd()).join('\n')}\n`;
}

const noLines = Object.fromEntries(
  'top top-mid top-left top-right bottom bottom-mid bottom-left bottom-right left left-mid mid mid-mid right right-mid'
    .split(' ')
    .map((name) => [name, '']),
);
