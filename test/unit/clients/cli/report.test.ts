import stringWidth from 'string-width';
import type { components } from '../../../../generated/openapi';
import { countersText, issueTable, jobReport } from '../../../../src/clients/cli/report';
import type { JobResource } from '../../../../src/clients/cli/jobs';

type RowIssue = components['schemas']['RowIssue'];

const issue = (other: Partial<RowIssue>): RowIssue => ({
  line: 3,
  last_line: 3,
  row: 2,
  sku: 'LAMP-1',
  field: 'price',
  column_number: 4,
  code: 'invalid_price',
  severity: 'error',
  message: 'The price is not a number.',
  value: '1.299,00',
  ...other,
});

describe('the table of issues', () => {
  it('has columns as wide as their contents', () => {
    expect(issueTable([issue({}), issue({ line: 1234567, sku: null, field: null, value: null })], 100)).toBe(
      [
        'line     sku     field  code           value     message',
        '3        LAMP-1  price  invalid_price  1.299,00  The price is not a number.',
        '1234567                 invalid_price            see line 3',
        '',
      ].join('\n'),
    );
  });

  it('wraps messages within the width, and cuts other long texts, also of wide characters', () => {
    const table = issueTable(
      [
        issue({
          sku: 'S'.repeat(255),
          value: '値'.repeat(200),
          message: 'what is wrong with it '.repeat(20),
        }),
        issue({ sku: '🏕'.repeat(100), value: 'a b '.repeat(50), message: 'x'.repeat(300) }),
      ],
      120,
    );

    const lines = table.trimEnd().split('\n');
    for (const line of lines) expect(stringWidth(line)).toBeLessThanOrEqual(120);
    expect(lines[1]).toContain(`${'S'.repeat(23)}…  price`);
    expect(lines[1]).toContain('値…');
    expect(lines.length).toBeGreaterThan(10);
  });

  it('keeps messages readable in a terminal that is too narrow', () => {
    const table = issueTable([issue({ message: 'what is wrong with it '.repeat(5) })], 20);

    expect(table).toContain('what is wrong with it what is\n');
  });

  it('prints control characters of feeds as escapes', () => {
    const table = issueTable([issue({ sku: 'A\u001b[31m', value: '1\n2', message: '\u0007' })], 100);

    expect(table.split('\n')).toHaveLength(3);
    expect(table).toContain(String.raw`A\u{1b}[31m`);
    expect(table).toContain(String.raw`1\n2`);
    expect(table).toContain(String.raw`\u{7}`);
  });
});

describe('the report of a job', () => {
  const job: JobResource = {
    job_id: 'JV00001',
    feed_id: 'FD00001',
    status: 'completed',
    job_type: 'validation',
    message: 'Products processed: 1234567. …',
    result: 'Products processed: 1234567. …',
    created_at: '2026-03-01T09:30:00.000Z',
    started_at: '2026-03-01T09:31:00.000Z',
    finished_at: '2026-03-01T09:31:01.250Z',
    summary: {
      processed: 1234567,
      inserted: 2,
      updated: 0,
      unchanged: 0,
      skipped: 1,
      withdrawn: 0,
      restored: 0,
    },
    issue_counts: [],
  };

  it('has the counters', () => {
    expect(jobReport(job)).toBe(
      `Job JV00001 of feed FD00001: completed.

processed      1,234,567
inserted               2
updated                0
unchanged              0
skipped                1
`,
    );
  });

  it('has the advice of the service as an option of the command line', () => {
    const message = 'The run would withdraw 9 of 9 active products. To confirm, run it with max_withdrawn=9.';

    expect(jobReport({ ...job, status: 'failed', message, result: undefined })).toContain(
      'To confirm, run it with --max-withdrawn 9.\n',
    );
  });

  it('has the numbers of withdrawn and restored products if they are not 0', () => {
    const summary = { ...job.summary!, withdrawn: 1_234, restored: 5 };

    expect(jobReport({ ...job, summary })).toContain(
      '\nwithdrawn          1,234\nrestored               5\n',
    );
  });

  it('explains why no product is withdrawn', () => {
    const summary = { ...job.summary!, is_withdrawal_withheld: true };

    expect(jobReport({ ...job, summary })).toMatch(
      /\nskipped +1\n\nNo product is withdrawn, because rows cannot be split into cells and may name any product\.\n$/,
    );
    expect(countersText(summary, [3, 17])).toMatch(/ Lines: 3, 17\n$/);
    const lines = Array.from({ length: 11 }, (_, at) => at + 2);
    expect(countersText(summary, lines)).toMatch(/ Lines: 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, …\n$/);
  });

  it('has the reason of a failed run without its counters', () => {
    const failed = {
      ...job,
      status: 'failed' as const,
      message: `ETL processing failed: no\u001b. ${job.result!}`,
    };

    expect(jobReport({ ...failed, summary: null })).toBe(
      `Job JV00001 of feed FD00001: failed.\nETL processing failed: no\\u{1b}.\n`,
    );
  });
});
