import { startTestService, type TestService } from '../../../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const list = (jobId: string, query = '') => service.api.get(`/jobs/${jobId}/issues${query}`);

/** A feed with this many invalid rows, from line 2. */
const badRows = (count: number) =>
  'sku,product_name,price\n' + Array.from({ length: count }, (_, n) => `S${n},Product,NA\n`).join('');
const anyText = expect.stringMatching(/\S/) as unknown as string;

describe('GET /jobs/{job_id}/issues', () => {
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

    it.each(cursors)('rejects the cursor %s', async (cursor) => {
      const { jobId } = await service.api.loadFeed(badRows(2));

      const { status, body } = await list(jobId, `?cursor=${cursor}`);

      expect(status).toBe(400);
      expect(body).toEqual(invalidCursor);
    });

    it.each(['limit=0', 'limit=1001', 'limit=ten', 'limit='])(
      'checks the cursor before %s',
      async (limit) => {
        const { jobId } = await service.api.uploadFeed(badRows(1));

        for (const query of [`?cursor=x&${limit}`, `?${limit}&cursor=x`]) {
          const { status, body } = await list(jobId, query);

          expect(status).toBe(400);
          expect(body).toEqual(invalidCursor);
        }
      },
    );

    it('rejects a cursor that is sent twice', async () => {
      const { jobId } = await service.api.loadFeed(badRows(2));

      const { status, body } = await list(jobId, '?cursor=1&cursor=1');

      expect(status).toBe(400);
      expect(body).toEqual(invalidCursor);
    });

    it('checks the cursor before the job', async () => {
      const { status, body } = await list('JV99999', '?cursor=x');

      expect(status).toBe(400);
      expect(body).toEqual(invalidCursor);
    });

    it('rejects a path that cannot be decoded', async () => {
      const { status, body } = await list('%E0%A4%A');

      expect(status).toBe(400);
      expect(body).toEqual({ detail: 'Malformed request path.' });
    });
  });

  describe('401', () => {
    it.each([undefined, 'wrong'])('rejects the key %j before anything else', async (key) => {
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
      'does not find the job %s',
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
    const rejects = async (limit: string, expected: unknown) => {
      const { jobId } = await service.api.uploadFeed(badRows(1));

      // Independent of whether the job exists.
      for (const id of [jobId, 'JV99999']) {
        const { status, body } = await list(id, `?limit=${encodeURIComponent(limit)}`);

        expect(status).toBe(422);
        expect(body).toEqual(expected);
      }
    };

    it.each(['', ' ', 'ten', '1.5', '1e2', '0x10', '+5', ' 5', '5 ', '１'])(
      'rejects the limit %j, which is not an integer',
      (limit) =>
        rejects(
          limit,
          refusal(
            'int_parsing',
            'Input should be a valid integer, unable to parse string as an integer',
            limit,
          ),
        ),
    );

    const codes =
      "'missing_required', 'incomplete_group', 'invalid_price', 'invalid_currency', 'currency_conflict', 'too_many_fields', 'value_too_long', 'invalid_character', 'invalid_quoting', 'duplicate_sku', 'superseded_row', 'unknown_sku', 'suspicious_sku', 'repeated_header', 'unknown_availability', 'zero_price', 'unknown_column', 'unmapped_column', 'no_prices', 'no_currency', 'price_jump' or 'older_feed'";
    it.each([
      ['code', 'invalid_prices', codes],
      ['code', 'INVALID_PRICE', codes],
      ['code', ' invalid_price', codes],
      ['code', 'invalid_price,zero_price', codes],
      ['code', '__proto__', codes],
      ['code', '\0', codes],
      ['severity', 'fatal', "'error' or 'warning'"],
      ['severity', 'Error', "'error' or 'warning'"],
      ['severity', 'error ', "'error' or 'warning'"],
    ])('rejects the %s %j', async (filter, input, expected) => {
      const { jobId } = await service.api.uploadFeed(badRows(1));

      for (const id of [jobId, 'JV99999']) {
        const { status, body } = await list(id, `?${filter}=${encodeURIComponent(input)}`);

        expect(status).toBe(422);
        expect(body).toEqual({
          detail: [
            {
              type: 'enum',
              loc: ['query', filter],
              msg: `Input should be ${expected}`,
              input,
              ctx: { expected },
            },
          ],
        });
      }
    });

    it('reports all errors at once', async () => {
      const { jobId } = await service.api.uploadFeed(badRows(1));

      const { status, body } = await list(jobId, '?severity=x&limit=0&code=y');

      expect(status).toBe(422);
      expect(body.detail.map(({ loc }: { loc: string[] }) => loc[1]).sort()).toEqual([
        'code',
        'limit',
        'severity',
      ]);
    });

    it.each(['code', 'severity'])('rejects a %s that is sent twice', async (filter) => {
      const { jobId } = await service.api.uploadFeed(badRows(1));

      const { status, body } = await list(jobId, `?${filter}=a&${filter}=b`);

      expect(status).toBe(422);
      expect(body.detail).toContainEqual(
        expect.objectContaining({ loc: ['query', filter], input: ['a', 'b'] }),
      );
    });

    it('rejects a limit that is sent twice', async () => {
      const { jobId } = await service.api.uploadFeed(badRows(1));

      const { status, body } = await list(jobId, '?limit=1&limit=2');

      expect(status).toBe(422);
      expect(body).toEqual({
        detail: [{ type: 'int_parsing', loc: ['query', 'limit'], msg: anyText, input: ['1', '2'] }],
      });
    });

    it.each(['0', '-1', '-99999999999999999999'])('rejects the limit %s: below 1', (limit) =>
      rejects(
        limit,
        refusal('greater_than_equal', 'Input should be greater than or equal to 1', limit, { ge: 1 }),
      ),
    );

    it.each(['1001', '5000', '99999999999999999999'])('rejects the limit %s: above 1000', (limit) =>
      rejects(
        limit,
        refusal('less_than_equal', 'Input should be less than or equal to 1000', limit, { le: 1000 }),
      ),
    );
  });
});
