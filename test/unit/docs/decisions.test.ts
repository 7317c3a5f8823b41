import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { project } from '../../support/harness';

const folder = join(project, 'docs', 'decisions');
const records = readdirSync(folder).filter((name) => name !== 'README.md');
const linesMax = 40;

describe('a decision record', () => {
  it.each(records)('has all sections in at most 40 lines: %s', (name) => {
    const lines = readFileSync(join(folder, name), 'utf8').trimEnd().split('\n');

    expect(name).toMatch(/^\d{4}-[a-z0-9-]+\.md$/);
    expect(lines[0]).toMatch(new RegExp(`^# ${Number(name.slice(0, 4))}\\. \\S`));
    expect(lines[2]).toMatch(
      /^Status: (accepted|superseded by \[\d+\]\(\d{4}-\S+\)), \d{4}-\d{2}-\d{2}(; supersedes \[\d+\]\(\d{4}-\S+\))?$/,
    );
    expect(lines.filter((line) => line.startsWith('## '))).toEqual([
      '## Context',
      '## Decision',
      '## Consequences',
      '## Alternatives',
    ]);
    expect(lines.length).toBeLessThanOrEqual(linesMax);
  });

  it('has a unique number', () => {
    const numbers = records.map((name) => name.slice(0, 4));

    expect(new Set(numbers).size).toBe(numbers.length);
  });
});
