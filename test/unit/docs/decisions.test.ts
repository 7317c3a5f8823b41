import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { project } from '../../support/harness';

const folder = join(project, 'docs', 'decisions');
const records = readdirSync(folder).filter((name) => name !== 'README.md');
const linesMax = 40;
const readPage = (name: string) => readFileSync(join(folder, name), 'utf8');
const numberOf = (record: string) => Number(record.slice(0, 4));
const overview = readPage('README.md');

describe('a decision record', () => {
  it.each(records)('has a title, a known status and all sections in at most 40 lines: %s', (name) => {
    const lines = readPage(name).trimEnd().split('\n');

    expect(name).toMatch(/^\d{4}-[a-z0-9-]+\.md$/);
    expect(lines[0]).toMatch(new RegExp(`^# ${numberOf(name)}\\. \\S`));
    expect(lines[2]).toMatch(/^Status: accepted, \d{4}-\d{2}-\d{2}$/);
    expect(lines.filter((line) => line.startsWith('## '))).toEqual([
      '## Context',
      '## Decision',
      '## Consequences',
      '## Alternatives',
    ]);
    expect(lines.length).toBeLessThanOrEqual(linesMax);
  });

  it('has a unique number', () => {
    const numbers = records.map(numberOf);

    expect(new Set(numbers).size).toBe(numbers.length);
  });

  it.each(records)('is listed once, with its number and title: %s', (name) => {
    const title = readPage(name).split('\n')[0]!.replace('# ', '');

    expect(overview.split(`- [${title}](${name})\n`)).toHaveLength(2);
  });

  it.each([...records, 'README.md'])('links to files that exist: %s', (name) => {
    const targets = Array.from(readPage(name).matchAll(/\]\(([^)\s#]+)[^)\s]*\)/g), ([, target]) => target!);
    const local = targets.filter((target) => !target.startsWith('https://'));

    expect(local.filter((target) => !existsSync(join(folder, target)))).toEqual([]);
  });

  it('is found by the number of a record that was merged into it', () => {
    const merged = Array.from(
      overview.matchAll(/^\| ([\d, ]+?) +\| \[(\d+)\]\((\S+)\) +\|$/gm),
      ([, former, number, target]) => ({ former: former!.split(', ').map(Number), number, target: target! }),
    );
    const former = merged.flatMap((row) => row.former);

    expect(merged.length).toBeGreaterThan(0);
    expect(merged.map(({ number }) => Number(number))).toEqual(merged.map(({ target }) => numberOf(target)));
    expect(merged.filter(({ target }) => !records.includes(target))).toEqual([]);
    expect(former.filter((number) => records.some((name) => numberOf(name) === number))).toEqual([]);
    expect(new Set(former).size).toBe(former.length);
  });
});
