import type { ApiResponse } from '../../support/api-client';
import { startTestService, type TestService } from '../../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

interface Issue {
  line: number;
  sku: string | null;
  field: string | null;
  code: string;
  message: string;
  value: string | null;
}

const list = (jobId: string, query = '') => service.api.get(`/jobs/${jobId}/issues${query}`);

/** Follows `next_cursor` to the end. @returns the pages */
async function listAll(jobId: string, limit: number): Promise<ApiResponse['body'][]> {
  const pages: ApiResponse['body'][] = [];
  for (let query = `?limit=${limit}`; ;) {
    const { status, body } = await list(jobId, query);
    expect(status).toBe(200);
    pages.push(body);
    if (body.next_cursor === undefined) return pages;
    query = `?limit=${limit}&cursor=${body.next_cursor}`;
  }
}

/** A feed with this many bad rows, on the lines from 2 on. */
const badRows = (count: number) =>
  'sku,product_name,price\n' + Array.from({ length: count }, (_, n) => `S${n},Product,NA\n`).join('');
const none = { count: 0, items: [], issue_counts: [] };
const anyText = expect.stringMatching(/\S/) as unknown as string;

describe('GET /jobs/{job_id}/issues', () => {
  describe('200', () => {
    it('says of every skipped row where it is and why, in the order of the file', async () => {
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
        code: string,
        value: unknown,
      ) => ({
        line,
        sku,
        field,
        code,
        message: anyText,
        value,
      });
      expect(status).toBe(200);
      expect(body).toEqual({
        count: 10,
        items: [
          issue(2, 'A', 'sku', 'duplicate_sku', 'A'),
          issue(3, 'B', 'price', 'invalid_price', '1.299,00'),
          issue(4, null, 'sku', 'missing_required', null),
          issue(5, 'C', 'product_name', 'missing_required', null),
          issue(6, 'D', 'currency', 'invalid_currency', 'XXQ'),
          issue(7, 'E', 'price', 'currency_conflict', 'USD 1'),
          issue(8, null, null, 'too_many_fields', expect.stringContaining('more')),
          issue(9, 'G', 'brand', 'value_too_long', expect.stringMatching(/^x{200}(?!x)/)),
          issue(10, 'H', 'brand', 'invalid_character', expect.stringMatching(/^Ac[^\0]*me$/)),
          issue(11, null, null, 'invalid_quoting', expect.stringContaining('Quotes')),
        ],
        issue_counts: expect.any(Array),
      });
      expect(
        Object.fromEntries(body.issue_counts.map((entry: { code: string }) => [entry.code, entry])),
      ).toEqual({
        duplicate_sku: { code: 'duplicate_sku', count: 1 },
        invalid_price: { code: 'invalid_price', count: 1 },
        missing_required: { code: 'missing_required', count: 2 },
        invalid_currency: { code: 'invalid_currency', count: 1 },
        currency_conflict: { code: 'currency_conflict', count: 1 },
        too_many_fields: { code: 'too_many_fields', count: 1 },
        value_too_long: { code: 'value_too_long', count: 1 },
        invalid_character: { code: 'invalid_character', count: 1 },
        invalid_quoting: { code: 'invalid_quoting', count: 1 },
      });
      expect(body.issue_counts[0]).toEqual({ code: 'missing_required', count: 2 });
    });

    it('has an entry for each fault of a row, which counts as one row skipped', async () => {
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
      expect(body.issue_counts).toEqual([
        { code: 'missing_required', count: 2 },
        { code: 'invalid_price', count: 1 },
        { code: 'invalid_currency', count: 1 },
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

      expect(body.items.map(({ line, sku }: Issue) => [line, sku])).toEqual([
        [4, 'A'],
        [5, 'B'],
        [8, 'C'],
        [11, 'D'],
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

    it('is empty for a run that skipped nothing', async () => {
      const { jobId } = await service.api.loadFeed('sku,product_name\n1,Tent\n');

      expect((await list(jobId)).body).toEqual(none);
    });

    it('shows the reasons of its own job only', async () => {
      const first = await service.api.loadFeed(badRows(1));
      const second = await service.api.loadFeed(badRows(2));

      expect((await list(first.jobId)).body.count).toBe(1);
      expect((await list(second.jobId)).body.count).toBe(2);
    });

    it('goes through the pages without a gap or a repeat', async () => {
      const { jobId } = await service.api.loadFeed(badRows(7));
      const lines = [2, 3, 4, 5, 6, 7, 8];

      for (const limit of [1, 2, 3, 6, 7, 8, 1000]) {
        const pages = await listAll(jobId, limit);

        expect(pages.flatMap(({ items }) => items.map((item: Issue) => item.line))).toEqual(lines);
        expect(pages.length).toBe(Math.ceil(7 / limit));
        for (const page of pages) {
          expect(page.count).toBe(page.items.length);
          expect(page.issue_counts).toEqual([{ code: 'invalid_price', count: 7 }]);
        }
      }
    });

    it('goes from page to page amid the faults of one row', async () => {
      const { jobId } = await service.api.loadFeed('sku,product_name,price\n,,NA\n,,NA\n');
      const whole = (await list(jobId)).body.items as Issue[];

      const pages = await listAll(jobId, 1);

      expect(whole.length).toBe(6);
      expect(pages.flatMap(({ items }) => items as Issue[])).toEqual(whole);
    });

    it('has 100 entries a page where no limit is given', async () => {
      const { jobId } = await service.api.loadFeed(badRows(101));

      const first = await list(jobId);
      const second = await list(jobId, `?cursor=${first.body.next_cursor}`);

      expect(first.body.count).toBe(100);
      expect(first.body.next_cursor).toEqual(expect.any(String));
      expect(second.body.items.map((item: Issue) => item.line)).toEqual([102]);
      expect(second.body).not.toHaveProperty('next_cursor');
    });

    it('takes an empty cursor for none, and ignores parameters that it does not know', async () => {
      const { jobId } = await service.api.loadFeed(badRows(3));

      const { status, body } = await list(jobId, '?limit=2&cursor=&offset=1&sort_by=nothing');

      expect(status).toBe(200);
      expect(body.items.map((item: Issue) => item.line)).toEqual([2, 3]);
    });

    it('keeps 10,000 entries in full, the first of the file, and counts them all', async () => {
      // A good row that a later one replaces is found last, and stands first in the file.
      const rows = badRows(10_050).replace('\n', '\nDOUBLE,First,1\n') + 'DOUBLE,Second,1\n';
      const { jobId, job } = await service.api.loadFeed(rows, 'Ten thousand');

      const pages = await listAll(jobId, 1000);

      const counts = [
        { code: 'invalid_price', count: 10_050 },
        { code: 'duplicate_sku', count: 1 },
      ];
      expect(job.summary).toEqual({
        processed: 10_052,
        inserted: 1,
        updated: 0,
        unchanged: 0,
        skipped: 10_051,
      });
      expect(job.issue_counts).toEqual(counts);
      expect(pages.length).toBe(10);
      expect(pages.map((page) => page.issue_counts)).toEqual(Array(10).fill(counts));
      const lines = pages.flatMap(({ items }) => items.map((item: Issue) => item.line));
      expect(lines).toEqual(Array.from({ length: 10_000 }, (_, n) => n + 2));
      expect(pages[0].items[0].code).toBe('duplicate_sku');
    });
  });

  describe('400', () => {
    const invalidCursor = { detail: 'Invalid cursor value.' };
    const cursors = [
      'x',
      '0',
      '-1',
      '1.5',
      '1e3',
      '0x1',
      '01',
      '%201',
      '1%20',
      'JV00001',
      '1%00',
      '99999999999999999999',
    ];

    it.each(cursors)('refuses the cursor %s', async (cursor) => {
      const { jobId } = await service.api.loadFeed(badRows(2));

      const { status, body } = await list(jobId, `?cursor=${cursor}`);

      expect(status).toBe(400);
      expect(body).toEqual(invalidCursor);
    });

    it.each(['limit=0', 'limit=1001', 'limit=ten', 'limit='])(
      'looks at the cursor before %s',
      async (limit) => {
        const { jobId } = await service.api.uploadFeed(badRows(1));

        for (const query of [`?cursor=x&${limit}`, `?${limit}&cursor=x`]) {
          const { status, body } = await list(jobId, query);

          expect(status).toBe(400);
          expect(body).toEqual(invalidCursor);
        }
      },
    );

    it('refuses a cursor that is sent twice', async () => {
      const { jobId } = await service.api.loadFeed(badRows(2));

      const { status, body } = await list(jobId, '?cursor=1&cursor=1');

      expect(status).toBe(400);
      expect(body).toEqual(invalidCursor);
    });

    it('looks at the cursor before the job', async () => {
      const { status, body } = await list('JV99999', '?cursor=x');

      expect(status).toBe(400);
      expect(body).toEqual(invalidCursor);
    });

    it('refuses a path that cannot be decoded', async () => {
      const { status, body } = await list('%E0%A4%A');

      expect(status).toBe(400);
      expect(body).toEqual({ detail: 'Malformed request path.' });
    });
  });

  describe('401', () => {
    it.each([undefined, 'wrong'])('refuses the key %j before anything else', async (key) => {
      const { jobId } = await service.api.uploadFeed(badRows(1));

      for (const path of [`/jobs/${jobId}/issues`, '/jobs/JV99999/issues?cursor=x&limit=0']) {
        const { status, body } = await service.api.withKey(key).get(path);

        expect(status).toBe(401);
        expect(body).toEqual({ detail: 'Invalid or missing API key' });
      }
    });
  });

  describe('404', () => {
    it.each(['JV99999', 'JS99999', 'JV1', 'jv00001', 'FD00001', 'JV00001%00'])(
      'knows no job %s',
      async (id) => {
        const jobId = decodeURIComponent(id);

        const { status, body } = await list(id);

        expect(status).toBe(404);
        expect(body).toEqual({
          error_code: 'JOB_NOT_FOUND',
          message: `Job ${jobId} not found`,
          details: { job_id: jobId },
        });
      },
    );
  });

  describe('422', () => {
    const refusal = (type: string, msg: string, input: string, ctx?: object) => ({
      detail: [{ type, loc: ['query', 'limit'], msg, input, ...(ctx && { ctx }) }],
    });
    const refuses = async (limit: string, expected: unknown) => {
      const { jobId } = await service.api.uploadFeed(badRows(1));

      // Whether there is such a job is of no account.
      for (const id of [jobId, 'JV99999']) {
        const { status, body } = await list(id, `?limit=${encodeURIComponent(limit)}`);

        expect(status).toBe(422);
        expect(body).toEqual(expected);
      }
    };

    it.each(['', ' ', 'ten', '1.5', '1e2', '0x10', '+5', ' 5', '5 ', '１'])(
      'refuses the limit %j: no integer',
      (limit) =>
        refuses(
          limit,
          refusal(
            'int_parsing',
            'Input should be a valid integer, unable to parse string as an integer',
            limit,
          ),
        ),
    );

    it('refuses a limit that is sent twice', async () => {
      const { jobId } = await service.api.uploadFeed(badRows(1));

      const { status, body } = await list(jobId, '?limit=1&limit=2');

      expect(status).toBe(422);
      expect(body).toEqual({
        detail: [{ type: 'int_parsing', loc: ['query', 'limit'], msg: anyText, input: ['1', '2'] }],
      });
    });

    it.each(['0', '-1', '-99999999999999999999'])('refuses the limit %s: below 1', (limit) =>
      refuses(
        limit,
        refusal('greater_than_equal', 'Input should be greater than or equal to 1', limit, { ge: 1 }),
      ),
    );

    it.each(['1001', '5000', '99999999999999999999'])('refuses the limit %s: above 1000', (limit) =>
      refuses(
        limit,
        refusal('less_than_equal', 'Input should be less than or equal to 1000', limit, { le: 1000 }),
      ),
    );
  });
});
