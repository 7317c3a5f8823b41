import type { ApiResponse } from '../../../support/api-client';
import { startTestService, type TestService } from '../../../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

interface Issue {
  line: number;
  last_line: number;
  row: number;
  sku: string | null;
  field: string | null;
  column_number: number | null;
  code: string;
  severity: string;
  message: string;
  value: string | null;
}

interface IssueCount {
  code: string;
  severity: string;
  count: number;
}

const list = (jobId: string, query = '') => service.api.get(`/jobs/${jobId}/issues${query}`);

/** Gets all pages. @param filter - begins with `&` */
async function listAll(jobId: string, limit: number, filter = ''): Promise<ApiResponse['body'][]> {
  const pages: ApiResponse['body'][] = [];
  for (let query = `?limit=${limit}${filter}`; ;) {
    const { status, body } = await list(jobId, query);
    expect(status).toBe(200);
    pages.push(body);
    if (body.next_cursor === undefined) return pages;
    query = `?limit=${limit}${filter}&cursor=${body.next_cursor}`;
  }
}

const countsOf = (counts: IssueCount[]) => counts.map(({ code, severity, count }) => [code, severity, count]);

/** A feed with this many invalid rows, from line 2. */
const badRows = (count: number) =>
  'sku,product_name,price\n' + Array.from({ length: count }, (_, n) => `S${n},Product,NA\n`).join('');
const none = { count: 0, items: [], issue_counts: [] };
const anyText = expect.stringMatching(/\S/) as unknown as string;

describe('GET /jobs/{job_id}/issues', () => {
  describe('200', () => {
    it('lists every skipped row with its place and reason, in the order of the file', async () => {
      const { jobId } = await service.api.loadFeed(
        [
          'sku,product_name,price,currency,brand',
          'A,Double,1,EUR,Acme', // line 2, replaced by line 12
          'B,Price,"1.299,00",EUR,Acme',
          ',No sku,1,EUR,Acme',
          'C,,1,EUR,Acme',
          'D,Currency,1,XXQ,Acme',
          'E,Conflict,USD 1,EUR,Acme',
          'F,Fields,1,EUR,Acme,more',
          `G,Long,1,EUR,${'x'.repeat(256)}`,
          'H,NUL,1,EUR,Ac\0me',
          'I,"Quotes" and text,1,EUR,Acme',
          'A,Double again,1,EUR,Acme',
        ].join('\n'),
        'All codes',
      );

      const { status, body } = await list(jobId);

      const issue = (
        line: number,
        sku: string | null,
        field: string | null,
        column_number: number | null,
        code: string,
        value: unknown,
      ) => ({
        line,
        last_line: line,
        row: line - 1,
        sku,
        field,
        column_number,
        code,
        severity: 'error',
        message: anyText,
        value,
      });
      expect(status).toBe(200);
      expect(body).toEqual({
        count: 10,
        items: [
          issue(2, 'A', 'sku', 1, 'duplicate_sku', 'A'),
          issue(3, 'B', 'price', 3, 'invalid_price', '1.299,00'),
          issue(4, null, 'sku', 1, 'missing_required', null),
          issue(5, 'C', 'product_name', 2, 'missing_required', null),
          issue(6, 'D', 'currency', 4, 'invalid_currency', 'XXQ'),
          issue(7, 'E', 'price', 3, 'currency_conflict', 'USD 1'),
          issue(8, null, null, 6, 'too_many_fields', expect.stringContaining('more')),
          issue(9, 'G', 'brand', 5, 'value_too_long', expect.stringMatching(/^x{200}(?!x)/)),
          issue(10, 'H', 'brand', 5, 'invalid_character', 'Ac\u2400me'),
          issue(11, null, null, null, 'invalid_quoting', expect.stringContaining('Quotes')),
        ],
        issue_counts: expect.any(Array),
      });
      const first = ({ line, row, sku, value }: Issue) => ({ line, row, sku, value });
      expect(body.issue_counts).toEqual(
        [
          'missing_required',
          'invalid_price',
          'invalid_currency',
          'currency_conflict',
          'too_many_fields',
          'value_too_long',
          'invalid_character',
          'invalid_quoting',
          'duplicate_sku',
        ].map((code) => {
          const items = (body.items as Issue[]).filter((item) => item.code === code);
          return { code, severity: 'error', count: items.length, first_rows: items.map(first) };
        }),
      );
    });

    it('has an entry for each error of a row, which counts as one skipped row', async () => {
      const { jobId, job } = await service.api.loadFeed('sku,product_name,price,currency\n,,NA,XXQ\n');

      const { body } = await list(jobId);

      expect(job.summary).toMatchObject({ processed: 1, skipped: 1 });
      expect(body.count).toBe(4);
      expect(body.items.map(({ line, field, code }: Issue) => [line, field, code]).sort()).toEqual([
        [2, 'currency', 'invalid_currency'],
        [2, 'price', 'invalid_price'],
        [2, 'product_name', 'missing_required'],
        [2, 'sku', 'missing_required'],
      ]);
      expect(countsOf(body.issue_counts)).toEqual([
        ['missing_required', 'error', 2],
        ['invalid_price', 'error', 1],
        ['invalid_currency', 'error', 1],
      ]);
    });

    it.each([
      ['LF', '\n'],
      ['CRLF', '\r\n'],
    ])('counts lines as an editor does, with %s', async (_name, end) => {
      const lines = [
        '',
        'sku,product_name,description,price',
        '',
        'A,First,,NA',
        'B,"Two',
        '',
        'lines",x,NA',
        'C,C,"',
        '",NA',
        ' ',
        'D,D,,NA',
      ];
      const { jobId } = await service.api.loadFeed(lines.join(end));

      const { body } = await list(jobId);

      expect(body.items.map((item: Issue) => [item.line, item.last_line, item.row, item.sku])).toEqual([
        [4, 4, 1, 'A'],
        [5, 7, 2, 'B'],
        [8, 9, 3, 'C'],
        [11, 11, 4, 'D'],
      ]);
    });

    it('shortens a value beyond 200 characters and an sku beyond 255', async () => {
      const { jobId } = await service.api.loadFeed(
        `sku,product_name,price\n${'s'.repeat(300)},A,1\nB,B,${'9'.repeat(200)}\nC,C,${'9'.repeat(201)}\n`,
      );

      const { items } = (await list(jobId)).body as { items: [Issue, Issue, Issue] };

      expect(items[0].sku).toMatch(/^s{255}(?!s).{0,3}$/);
      expect(items[0].value).toMatch(/^s{200}(?!s).{0,3}$/);
      expect(items[1].value).toBe('9'.repeat(200));
      expect(items[2].value).toMatch(/^9{200}(?!9).{1,3}$/);
    });

    it.each(['queued', 'submission'])('is empty for a %s job', async (kind) => {
      const { jobId, submissionJobId } = await service.api.uploadFeed(badRows(1));

      const { status, body } = await list(kind === 'queued' ? jobId : submissionJobId);

      expect(status).toBe(200);
      expect(body).toEqual(none);
    });

    it('stays empty for a submission job after the run', async () => {
      const { submissionJobId } = await service.api.loadFeed(badRows(1));

      expect((await list(submissionJobId, '?limit=1000')).body).toEqual(none);
    });

    it('is empty for a run that skipped no row', async () => {
      const { jobId } = await service.api.loadFeed('sku,product_name\n1,Tent\n');

      expect((await list(jobId)).body).toEqual(none);
    });

    it('lists the issues of its own job only', async () => {
      const first = await service.api.loadFeed(badRows(1));
      const second = await service.api.loadFeed(badRows(2));

      expect((await list(first.jobId)).body.count).toBe(1);
      expect((await list(second.jobId)).body.count).toBe(2);
    });

    it('pages without gaps or repetitions', async () => {
      const { jobId } = await service.api.loadFeed(badRows(7));
      const lines = [2, 3, 4, 5, 6, 7, 8];

      for (const limit of [1, 2, 3, 6, 7, 8, 1000]) {
        const pages = await listAll(jobId, limit);

        expect(pages.flatMap(({ items }) => items.map((item: Issue) => item.line))).toEqual(lines);
        expect(pages.length).toBe(Math.ceil(7 / limit));
        for (const page of pages) {
          expect(page.count).toBe(page.items.length);
          expect(countsOf(page.issue_counts)).toEqual([['invalid_price', 'error', 7]]);
        }
      }
    });

    it('continues a page within the errors of one row', async () => {
      const { jobId } = await service.api.loadFeed('sku,product_name,price\n,,NA\n,,NA\n');
      const whole = (await list(jobId)).body.items as Issue[];

      const pages = await listAll(jobId, 1);

      expect(whole.length).toBe(6);
      expect(pages.flatMap(({ items }) => items as Issue[])).toEqual(whole);
    });

    it('has 100 entries per page by default', async () => {
      const { jobId } = await service.api.loadFeed(badRows(101));

      const first = await list(jobId);
      const second = await list(jobId, `?cursor=${first.body.next_cursor}`);

      expect(first.body.count).toBe(100);
      expect(first.body.next_cursor).toEqual(expect.any(String));
      expect(second.body.items.map((item: Issue) => item.line)).toEqual([102]);
      expect(second.body).not.toHaveProperty('next_cursor');
    });

    it('treats an empty cursor as absent, and ignores unknown parameters', async () => {
      const { jobId } = await service.api.loadFeed(badRows(3));

      const { status, body } = await list(jobId, '?limit=2&cursor=&offset=1&sort_by=nothing');

      expect(status).toBe(200);
      expect(body.items.map((item: Issue) => item.line)).toEqual([2, 3]);
    });

    it('keeps the first 10,000 entries in full, and counts all', async () => {
      // A superseded row is found last, and is first in the file.
      const rows = badRows(10_050).replace('\n', '\nDOUBLE,First,1\n') + 'DOUBLE,Second,1\n';
      const { jobId, job } = await service.api.loadFeed(rows, 'Ten thousand');

      const pages = await listAll(jobId, 1000);

      const counts = [
        { code: 'invalid_price', severity: 'error', count: 10_050, first_rows: expect.any(Array) },
        {
          code: 'duplicate_sku',
          severity: 'error',
          count: 1,
          first_rows: [{ line: 2, row: 1, sku: 'DOUBLE', value: 'DOUBLE' }],
        },
      ];
      expect(job.summary).toEqual({
        processed: 10_052,
        inserted: 1,
        updated: 0,
        unchanged: 0,
        skipped: 10_051,
        withdrawn: 0,
        restored: 0,
      });
      expect(job.issue_counts).toEqual(counts);
      expect(pages.length).toBe(10);
      expect(pages.map((page) => page.issue_counts)).toEqual(Array(10).fill(counts));
      const lines = pages.flatMap(({ items }) => items.map((item: Issue) => item.line));
      expect(lines).toEqual(Array.from({ length: 10_000 }, (_, n) => n + 2));
      expect(pages[0].items[0].code).toBe('duplicate_sku');
    });

    it('keeps errors rather than earlier warnings', async () => {
      const warnings = Array.from({ length: 10_000 }, (_, n) => `W${n},W,0,1\n`).join('');
      const errors = Array.from({ length: 9_997 }, (_, n) => `E${n},E,NA,1\n`).join('');
      const { jobId, job } = await service.api.loadFeed(
        `sku,product_name,price,colour\n${warnings}${errors}`,
        'Errors first',
      );

      const pages = await listAll(jobId, 1000);

      const items = pages.flatMap((page) => page.items as Issue[]);
      expect(countsOf(job.issue_counts)).toEqual([
        ['invalid_price', 'error', 9_997],
        ['zero_price', 'warning', 10_000],
        ['unknown_column', 'warning', 1],
      ]);
      // The first warnings fill the rest; all are in the order of the file.
      expect(items.map(({ line }) => line)).toEqual([
        ...[1, 2, 3],
        ...Array.from({ length: 9_997 }, (_, n) => 10_002 + n),
      ]);
      expect(countsOf(pages[9].issue_counts)).toEqual(countsOf(job.issue_counts));
    });

    describe('with a filter', () => {
      let jobId: string;
      let all: Issue[];
      beforeAll(async () => {
        ({ jobId } = await service.api.loadFeed(
          [
            'sku,product_name,price,availability,colour',
            'A,A,0,ask us,red', // replaced by line 7
            ',,NA,ask us,red',
            'B,B,0,in stock,',
            ',C,0,,',
            'D,D,x,,',
            'A,A,1,,',
          ].join('\n'),
          'Filters',
        ));
        all = (await list(jobId)).body.items;
      });

      it('lists everything without a filter', () => {
        expect(all.map(({ line, code, severity }) => [line, code, severity])).toEqual([
          [1, 'unknown_column', 'warning'],
          [2, 'duplicate_sku', 'error'],
          [2, 'zero_price', 'warning'],
          [2, 'unknown_availability', 'warning'],
          [3, 'missing_required', 'error'],
          [3, 'missing_required', 'error'],
          [3, 'invalid_price', 'error'],
          [3, 'unknown_availability', 'warning'],
          [4, 'zero_price', 'warning'],
          [5, 'missing_required', 'error'],
          [5, 'zero_price', 'warning'],
          [6, 'invalid_price', 'error'],
        ]);
      });

      it.each([
        'missing_required',
        'invalid_price',
        'invalid_currency',
        'duplicate_sku',
        'zero_price',
        'unknown_availability',
        'unknown_column',
        'older_feed',
      ])('lists only entries with the code %s, with counts of all', async (code) => {
        const { status, body } = await list(jobId, `?code=${code}`);

        const expected = all.filter((item) => item.code === code);
        expect(status).toBe(200);
        expect(body).toMatchObject({ count: expected.length, items: expected });
        expect(body).not.toHaveProperty('next_cursor');
        expect(countsOf(body.issue_counts)).toEqual([
          ['missing_required', 'error', 3],
          ['invalid_price', 'error', 2],
          ['duplicate_sku', 'error', 1],
          ['zero_price', 'warning', 3],
          ['unknown_availability', 'warning', 2],
          ['unknown_column', 'warning', 1],
        ]);
      });

      it.each(['error', 'warning'])('lists only entries with the severity %s', async (severity) => {
        const { body } = await list(jobId, `?severity=${severity}`);

        expect(body.items).toEqual(all.filter((item) => item.severity === severity));
        expect(body.count).toBe(6);
      });

      it.each([
        ['code=zero_price&severity=warning', 3],
        ['severity=error&code=zero_price', 0],
      ])('lists entries that match both of %s', async (query, count) => {
        const { body } = await list(jobId, `?${query}`);

        expect(body.count).toBe(count);
        expect(body.items).toEqual(count === 0 ? [] : all.filter(({ code }) => code === 'zero_price'));
      });

      it.each(['code=', 'severity=', 'code=&severity=', 'code=&severity=&cursor='])(
        'treats an empty filter as absent: %s',
        async (query) => {
          expect((await list(jobId, `?${query}`)).body.items).toEqual(all);
        },
      );

      it.each([
        '&severity=warning',
        '&severity=error',
        '&code=zero_price',
        '&code=missing_required&severity=error',
      ])('pages through %s without gaps or repetitions', async (filter) => {
        const whole = (await list(jobId, `?${filter}`)).body.items as Issue[];

        for (const limit of [1, 2, 5, 6]) {
          const pages = await listAll(jobId, limit, filter);

          expect(pages.flatMap(({ items }) => items as Issue[])).toEqual(whole);
          expect(pages.length).toBe(Math.ceil(whole.length / limit));
        }
      });
    });

    describe('warnings', () => {
      const warning = (fields: Partial<Issue>) => ({
        line: 1,
        last_line: 1,
        row: 0,
        sku: null,
        field: null,
        column_number: null,
        severity: 'warning',
        message: anyText,
        ...fields,
      });

      it('reports each unknown column once, at the header', async () => {
        const { jobId, job } = await service.api.loadFeed(
          '\n"size\nin cm", sku,Titel,product_name,TITEL\n1,A,x,A,y\n2,B,x,B,y\n',
          'Unknown columns',
        );

        expect(job.summary).toMatchObject({ inserted: 2, skipped: 0 });
        const { body } = await list(jobId);
        const header = { line: 2, last_line: 3, code: 'unknown_column' };
        expect(body.items).toEqual([
          warning({ ...header, column_number: 1, value: 'size\nin cm' }),
          warning({ ...header, column_number: 3, value: 'Titel' }),
          warning({ ...header, column_number: 5, value: 'TITEL' }),
        ]);
        expect(body.issue_counts).toMatchObject([{ code: 'unknown_column', severity: 'warning', count: 3 }]);
      });

      it('does not report columns without a name or with a leading underscore', async () => {
        const { jobId } = await service.api.loadFeed(
          '_line,_codes,_,_price,sku,,product_name, \n1,2,3,4,A,6,A,8\n',
          'Silent columns',
        );

        expect((await list(jobId)).body).toEqual(none);
      });

      it('shortens a name of more than 200 characters', async () => {
        const { jobId } = await service.api.loadFeed(
          `sku,product_name,${'n'.repeat(201)}\nA,A,\n`,
          'Long name',
        );

        expect((await list(jobId)).body.items[0].value).toMatch(/^n{200}(?!n).{1,3}$/);
      });

      it('warns about a price of 0 and an unknown availability of a loaded row', async () => {
        const { jobId, job } = await service.api.loadFeed(
          'sku,product_name,price,availability\nA,"A\nA",$0.00, Ask Us \nB,B,1,in stock\n',
          'Suspicious',
        );

        expect(job.summary).toMatchObject({ inserted: 2, skipped: 0 });
        const row = { line: 2, last_line: 3, row: 1, sku: 'A' };
        expect((await list(jobId)).body.items).toEqual([
          warning({ ...row, field: 'price', column_number: 3, code: 'zero_price', value: '$0.00' }),
          warning({
            ...row,
            field: 'availability',
            column_number: 4,
            code: 'unknown_availability',
            value: 'Ask Us',
          }),
        ]);
      });

      it('warns about the newest feed that was loaded before', async () => {
        const csv = 'sku,product_name\nA,A\n';
        const old = await service.api.uploadFeed(csv, 'Older feed');
        await service.api.loadFeed(csv, 'Older feed');
        const newest = await service.api.loadFeed(csv, 'Older feed');
        const notRun = await service.api.uploadFeed(csv, 'Older feed');
        await service.api.loadFeed(csv, 'Another partner');

        const { body: job } = await service.api.post(`/jobs/${old.jobId}/run`);

        expect(job).toMatchObject({ status: 'completed', summary: { unchanged: 1, skipped: 0 } });
        const { body } = await list(old.jobId);
        expect(body.items).toEqual([warning({ code: 'older_feed', value: newest.feedId })]);
        expect(body.issue_counts).toEqual([
          {
            code: 'older_feed',
            severity: 'warning',
            count: 1,
            first_rows: [{ line: 1, row: 0, sku: null, value: newest.feedId }],
          },
        ]);
        // Neither the newest feed nor the first run of a newer one has a warning.
        for (const { jobId } of [newest, notRun]) {
          await service.api.post(`/jobs/${jobId}/run`);
          expect((await list(jobId)).body).toEqual(none);
        }
      });

      it('does not warn about a newer feed that failed', async () => {
        const old = await service.api.uploadFeed('sku,product_name\nA,A\n', 'Newer failed');
        await service.api.loadFeed('sku,product_name\nA,"A\n', 'Newer failed');
        await service.api.post(`/jobs/${old.jobId}/run`);

        expect((await list(old.jobId)).body).toEqual(none);
      });
    });
  });
});
