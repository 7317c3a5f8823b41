export function page(title: string, source: string, ...blocks: string[]): string {
  const notice = `<!-- Generated from ${source} by \`make generate\`; edit that instead. -->`;
  return `${[notice, `# ${title}`, ...blocks].join('\n\n')}\n`;
}

/** Makes a table; escapes line breaks and bars. */
export function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

export const code = (text: string | number): string => `\`${text}\``;

export const codeBlock = (language: string, text: string): string =>
  `\`\`\`${language}\n${text.trimEnd()}\n\`\`\``;

export const count = (value: number): string => value.toLocaleString('en');

/** Formats a size in the largest unit that gives a whole number. */
export function bytes(value: number): string {
  const [unit, size] = largestUnit(value, [
    ['GiB', 1024 ** 3],
    ['MiB', 1024 ** 2],
    ['KiB', 1024],
    ['bytes', 1],
  ]);
  return value === 1 ? '1 byte' : `${count(value / size)} ${unit}`;
}

/** Formats a duration in the largest unit that gives a whole number; seconds up to two minutes. */
export function duration(milliseconds: number): string {
  const [unit, size] = largestUnit(milliseconds, [
    ['h', 3_600_000],
    ['min', 60_000],
    ['s', 1000],
    ['ms', 1],
  ]);
  return unit === 'min' && milliseconds < 120_000
    ? `${milliseconds / 1000} s`
    : `${count(milliseconds / size)} ${unit}`;
}

function largestUnit(value: number, units: [name: string, size: number][]): [name: string, size: number] {
  return units.find(([, size]) => value % size === 0) ?? units.at(-1)!;
}
