/** Prints rows of cells, the headings first, in columns. */
export function printTable(rows: string[][]): void {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  for (const row of rows) {
    const cells = row.map((cell, column) => cell.padEnd(widths[column]!));
    process.stdout.write(`${cells.join('  ').trimEnd()}\n`);
  }
}
