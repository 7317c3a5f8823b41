import fc from 'fast-check';
import { storedIssues } from '../../../../src/feed-format/check/file-report';
import { RejectedRows } from '../../../../src/feed-format/check/rejected-rows';
import { issuesKept, RowIssueLog, rowIssue } from '../../../../src/feed-format/rows/row-issues';

const placeOf = (line: number) => ({ line, lastLine: line, row: line - 1 });

describe('RejectedRows', () => {
  it('reports the first rows in the order of the file, and counts all, in any order', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: 2, max: 5_000 }), { maxLength: 200 }), (lines) => {
        const rows = new RejectedRows('duplicate_sku');
        const log = new RowIssueLog();
        for (const line of lines) rows.add(placeOf(line), `S-${line}`);

        const sorted = lines.toSorted((a, b) => a - b);
        expect(rows.report(log, { positions: { sku: 1 } }).map(({ line }) => line)).toEqual(sorted);
        expect(
          log.countsByCode.map(({ count, first_rows }) => [count, first_rows.map(({ line }) => line)]),
        ).toEqual(lines.length === 0 ? [] : [[lines.length, sorted.slice(0, 3)]]);
      }),
    );
  });

  it('keeps the first 10,000 of many rows that come in descending order', () => {
    const rows = new RejectedRows('duplicate_sku');
    const count = 45_000;
    for (let line = count; line > 0; line--) rows.add(placeOf(line), 'A');

    const lines = rows.report(new RowIssueLog(), { positions: {} }).map(({ line }) => line);

    expect(rows.count).toBe(count);
    expect(lines).toEqual(Array.from({ length: issuesKept }, (_, index) => index + 1));
  });
});

describe('storedIssues', () => {
  const issueAt = (line: number, code: 'zero_price' | 'invalid_price' | 'duplicate_sku') =>
    rowIssue(placeOf(line), null, { code });

  it('lists issues in the order of the file, and on one line the rejection of the row first', () => {
    const log = new RowIssueLog();
    for (const issue of [issueAt(2, 'zero_price'), issueAt(3, 'invalid_price')]) log.add(issue);

    const stored = storedIssues(log, [issueAt(4, 'duplicate_sku'), issueAt(2, 'duplicate_sku')]);

    expect(stored.map(({ line, code }) => `${line} ${code}`)).toEqual([
      '2 duplicate_sku',
      '2 zero_price',
      '3 invalid_price',
      '4 duplicate_sku',
    ]);
  });

  it('prefers errors to warnings within the limit', () => {
    const log = new RowIssueLog();
    for (let line = 2; line < 2 + issuesKept; line++) log.add(issueAt(line, 'zero_price'));

    const stored = storedIssues(log, [issueAt(20_000, 'duplicate_sku')]);

    expect(stored).toHaveLength(issuesKept);
    expect(stored.at(-1)).toMatchObject({ line: 20_000, code: 'duplicate_sku' });
    expect(stored.at(-2)).toMatchObject({ line: issuesKept });
  });
});
