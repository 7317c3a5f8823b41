export function printLine(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Prints rows of cells in columns, the headings first. */
export function printTable(rows: string[][]): void {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  for (const row of rows) {
    const cells = row.map((cell, column) => cell.padEnd(widths[column]!));
    printLine(cells.join('  ').trimEnd());
  }
}

export function printJson(value: unknown): void {
  printLine(JSON.stringify(value, null, 2));
}

/** Prints a message to standard error: standard output has only results. */
export function printNote(text: string): void {
  process.stderr.write(`${text}\n`);
}
