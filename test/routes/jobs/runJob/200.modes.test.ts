import { startTestService, type TestService } from '../../../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

const rows = (from: number, to: number, price = 1) =>
  Array.from({ length: to - from + 1 }, (_, at) => `S${from + at},Name ${from + at},${price}`);
const csvOf = (lines: string[], header = 'sku,product_name,price') => [header, ...lines].join('\n');
const replace = { mode: 'replace' };
const skusOf = async (partner: string) => {
  const { body } = await service.api.get(`/products?partner_name=${encodeURIComponent(partner)}&limit=100`);
  return body.items.map(({ sku }: { sku: string }) => sku).sort() as string[];
};
const skus = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, at) => `S${from + at}`).sort();

describe('a run of a replace feed', () => {
  it('withdraws products without a row, and restores them when a later feed contains them', async () => {
    const { load } = partner('Replaces');
    await load(csvOf(rows(1, 10)));

    const first = await load(csvOf(rows(3, 11)), replace);

    expect(first.job.summary).toEqual({
      processed: 9,
      inserted: 1,
      updated: 0,
      unchanged: 8,
      skipped: 0,
      withdrawn: 2,
      restored: 0,
    });
    expect(first.job.message).not.toMatch(/ithdrawn/);
    expect(await skusOf('Replaces')).toEqual(skus(3, 11));

    const second = await load(csvOf(rows(1, 11)), replace);
    expect(second.job.summary).toMatchObject({ updated: 2, unchanged: 9, restored: 2, withdrawn: 0 });
    expect((await load(csvOf(rows(1, 11)), replace)).job.summary).toMatchObject({
      unchanged: 11,
      updated: 0,
    });
  });

  it('leaves products of other collections and partners', async () => {
    const { load } = partner('Collections');
    await load(csvOf(rows(1, 3)), { collection: 'winter' });
    await load(csvOf(rows(4, 6)));
    await partner('Another').load(csvOf(rows(1, 9)));

    const { job } = await load(csvOf(rows(7, 7)), { ...replace, collection: 'winter' });

    expect(job.summary).toMatchObject({ inserted: 1, withdrawn: 3 });
    expect(await skusOf('Collections')).toEqual(skus(4, 7));
    expect(await skusOf('Another')).toEqual(skus(1, 9));
  });

  it('moves an unchanged product to its collection, and keeps its feed', async () => {
    const { load } = partner('Moves');
    const { feedId } = await load(csvOf(rows(1, 2)));

    const { job } = await load(csvOf(rows(1, 1)), { collection: 'winter' });

    expect(job.summary).toMatchObject({ unchanged: 1, updated: 0 });
    expect((await service.api.get('/products?partner_name=Moves&sku=S1')).body.items[0].feed_id).toBe(feedId);
    expect((await load(csvOf(rows(2, 2)), replace)).job.summary).toMatchObject({ withdrawn: 0 });
    expect(await skusOf('Moves')).toEqual(['S1', 'S2']);
  });

  it('replaces main without a collection, and moves its products there', async () => {
    const { load } = partner('Returns');
    await load(csvOf(rows(1, 2)), { collection: 'winter' });

    expect((await load(csvOf(rows(1, 1)), replace)).job.summary).toMatchObject({
      unchanged: 1,
      withdrawn: 0,
    });

    const { job } = await load(csvOf(rows(3, 3)), { ...replace, collection: 'winter' });
    expect(job.summary).toMatchObject({ inserted: 1, withdrawn: 1 });
    expect(await skusOf('Returns')).toEqual(['S1', 'S3']);
  });

  it('does not withdraw products of skipped rows, and neither restores nor moves them', async () => {
    const { load } = partner('Protects');
    await load(csvOf(rows(1, 5)));
    await load(csvOf(rows(1, 1)), { collection: 'winter' });
    await load(csvOf(rows(2, 4)), replace, '?max_withdrawn=9');

    const { job } = await load(
      csvOf(['S2,Name,NA', 'S1,Name,NA', 'S5,,1', 'S3,N,1,x', ',N,1']),
      replace,
      '?max_withdrawn=9',
    );

    expect(job.summary).toMatchObject({ skipped: 5, withdrawn: 1, restored: 0 });
    expect(await skusOf('Protects')).toEqual(['S1', 'S2', 'S3']);
    // S1 has stayed in the other collection.
    expect((await load(csvOf(['S1,A,1']), { ...replace, collection: 'winter' })).job.summary).toMatchObject({
      updated: 1,
    });
  });

  it('withholds all withdrawals when a row cannot be split into cells', async () => {
    const { load } = partner('Withholds');
    await load(csvOf(rows(1, 3)));

    const { job, jobId } = await load(csvOf(['S1,Name 1,1', '"S2"x,Name,1']), replace);

    expect(job.summary).toMatchObject({
      unchanged: 1,
      skipped: 1,
      withdrawn: 0,
      is_withdrawal_withheld: true,
    });
    expect(await skusOf('Withholds')).toEqual(skus(1, 3));
    const { body: plan } = await service.api.post(`/jobs/${jobId}/plan`);
    expect(plan).toMatchObject({ withheld_lines: [3], count: 0, summary: { is_withdrawal_withheld: true } });
  });

  it.each([
    ['a row that is too long', `S2,"${'x'.repeat(524_288)}",1`],
    ['a row whose sku is misquoted, with a valid one after it', '"S2"x,Name,1\nS2,Name,1'],
  ])('withholds all withdrawals because of %s', async (what, row) => {
    const { load } = partner(`Withholds for ${what}`);
    await load(csvOf(rows(1, 3)));

    const { job } = await load(csvOf(['S1,Name 1,1', row]), replace);

    expect(job.summary).toMatchObject({ skipped: 1, withdrawn: 0, is_withdrawal_withheld: true });
  });

  it('withdraws a product that was once loaded from a repeated header, which names none', async () => {
    const { load } = partner('Repeats its header');
    await load('sku,product_name,category\nsku,product_name,x\nS1,Name,\n');

    const { job } = await load('sku,product_name\nS1,Name\nsku,product_name\n', replace);

    expect(job.summary).toMatchObject({ processed: 2, unchanged: 1, skipped: 1, withdrawn: 1 });
    expect(await skusOf('Repeats its header')).toEqual(['S1']);
  });

  it('withholds withdrawals because of any number of rows, of which its plan lists the first 100', async () => {
    const { load } = partner('Withholds often');

    const { jobId } = await load(csvOf(['S1,Name 1,1', ...Array(101).fill('"S2"x,Name,1')]), replace);

    const { body: plan } = await service.api.post(`/jobs/${jobId}/plan`);
    expect(plan.withheld_lines).toEqual(Array.from({ length: 100 }, (_, at) => at + 3));
    expect(plan.summary).toMatchObject({ skipped: 101, is_withdrawal_withheld: true });
  });

  it('fails when it would withdraw more than ten and more than a fifth, until the number is confirmed', async () => {
    const { load, run } = partner('Guard');
    await load(csvOf(rows(1, 55)));
    expect((await load(csvOf(rows(1, 44)), replace)).job.summary).toMatchObject({ withdrawn: 11 });

    const { job, jobId } = await load(csvOf(rows(1, 33)), replace);

    expect(job).toMatchObject({
      status: 'failed',
      summary: { processed: 0, withdrawn: 0, would_withdraw: 11 },
      message: expect.stringContaining(
        'The run would withdraw 11 of 44 active products of collection main; at most 10 may be withdrawn. ' +
          'To confirm, run it with max_withdrawn=11.',
      ),
    });
    expect(await skusOf('Guard')).toEqual(skus(1, 44));
    expect((await run(jobId, '?max_withdrawn=10')).status).toBe('failed');
    // The limit of one run does not apply to the next.
    expect((await run(jobId)).status).toBe('failed');
    for (const [query, status, withdrawn] of [
      ['', 'failed', 0],
      ['?max_withdrawn=10', 'failed', 0],
      ['?max_withdrawn=11', 'completed', 11],
    ] as const) {
      const { body: plan } = await service.api.post(`/jobs/${jobId}/plan${query}`);
      expect(plan).toMatchObject({ status, summary: { withdrawn } });
    }
    expect(await run(jobId, '?max_withdrawn=11')).toMatchObject({
      status: 'completed',
      summary: { withdrawn: 11 },
    });
  });

  it('applies a confirmed number even if it is lower than the usual limit', async () => {
    const { load } = partner('Lower');
    await load(csvOf(rows(1, 9)));

    expect((await load(csvOf(rows(1, 7)), replace, '?max_withdrawn=1')).job).toMatchObject({
      status: 'failed',
      summary: { would_withdraw: 2 },
    });
  });

  it('fails when it would leave no product, until that is confirmed', async () => {
    const { load, run } = partner('Empties');
    await load(csvOf(rows(1, 3)));

    const { job, jobId } = await load(csvOf([]), replace);

    expect(job).toMatchObject({ status: 'failed', summary: { would_withdraw: 3 } });
    expect(job.message).toContain('none would be left');
    expect(await run(jobId, '?max_withdrawn=3')).toMatchObject({
      status: 'completed',
      summary: { withdrawn: 3 },
    });
    expect(await skusOf('Empties')).toEqual([]);
  });

  it('keeps the confirmed number while it is queued', async () => {
    const { load } = partner('Queued');
    await load(csvOf(rows(1, 3)));
    const { jobId } = await service.api.uploadFeed(csvOf([]), 'Queued', replace);

    const { body } = await service.api.post(`/jobs/${jobId}/run?max_withdrawn=3`, undefined, {
      prefer: 'respond-async',
    });

    expect(body).toMatchObject({ status: 'queued' });
    const waited = await service.api.post(`/jobs/${jobId}/run`);
    expect(waited.body).toMatchObject({ status: 'completed', summary: { withdrawn: 3 } });
  });

  it('fails when a newer feed of the collection has been loaded, unless allow_older is true', async () => {
    const { load, run } = partner('Older');
    const { jobId } = await service.api.uploadFeed(csvOf(rows(1, 2)), 'Older', replace);
    await load(csvOf(rows(5, 5)), { ...replace, collection: 'winter' });
    expect((await run(jobId)).status).toBe('completed');
    const { feedId } = await load(csvOf(rows(1, 3)), replace);

    const job = await run(jobId);

    expect(job.message).toContain(`A newer feed (${feedId}) has been loaded since.`);
    expect(job.status).toBe('failed');
    const { body: plan } = await service.api.post(`/jobs/${jobId}/plan`);
    expect(plan).toMatchObject({ status: 'failed', message: job.message, newer_feed_id: feedId, items: [] });
    const { body: allowed } = await service.api.post(`/jobs/${jobId}/plan?allow_older=true`);
    expect(allowed).toMatchObject({ status: 'completed', summary: { withdrawn: 1 } });
    expect(allowed).not.toHaveProperty('newer_feed_id');
    expect(await run(jobId, '?allow_older=true')).toMatchObject({
      status: 'completed',
      summary: { withdrawn: 1 },
    });
  });

  it('fails because of its age before it searches for repeated skus, as its plan does', async () => {
    const { load, run } = partner('Older repeats');
    const older = await service.api.uploadFeed(
      csvOf(['S1,A,1', 'S1,B,1', 'S2,C,NA']),
      'Older repeats',
      replace,
    );
    await load(csvOf(rows(1, 3)), replace);

    const { status, message, summary, issue_counts } = await run(older.jobId);

    expect([status, summary.skipped]).toEqual(['failed', 1]);
    const { body: plan } = await service.api.post(`/jobs/${older.jobId}/plan`);
    expect(plan).toMatchObject({ status, message, summary, issue_counts });
  });
});

describe('a run of an update feed', () => {
  const update = { mode: 'update' };

  it('changes known products only, and keeps names for empty or absent cells', async () => {
    const { load } = partner('Updates');
    await load(csvOf(rows(1, 3)));

    const { job, jobId } = await load(csvOf(['S1,5', 'S9,5', 'S2,1'], 'sku,price'), update);

    expect(job.summary).toMatchObject({ processed: 3, inserted: 0, updated: 1, unchanged: 1, skipped: 1 });
    expect(job.issue_counts).toMatchObject([
      { code: 'unknown_sku', count: 1, first_rows: [{ sku: 'S9', row: 2 }] },
    ]);
    expect((await service.api.get(`/jobs/${jobId}/issues`)).body.items).toMatchObject([
      { code: 'unknown_sku', line: 3, field: 'sku', column_number: 1, value: 'S9' },
    ]);
    expect((await service.api.get(`/jobs/${jobId}/rejects.csv`)).body).toContain('3,unknown_sku,');
    expect((await load(csvOf(['S1,,6', 'S2,New,6']), update)).job.summary).toMatchObject({ updated: 2 });
    const { body } = await service.api.get('/products?partner_name=Updates&sort_by=product_id&order=asc');
    expect(body.items).toMatchObject([
      { product_name: 'Name 1', price: 6 },
      { product_name: 'New', price: 6 },
      { product_name: 'Name 3', price: 1 },
    ]);
  });

  it('skips an unknown sku again in a repeated run, and updates it after it exists', async () => {
    const { load, run } = partner('Repeats');
    await load(csvOf(rows(1, 1)));
    const { jobId } = await load(csvOf(['S1,5', 'S9,5'], 'sku,price'), update);

    expect((await run(jobId)).summary).toMatchObject({ unchanged: 1, skipped: 1 });
    await load(csvOf(rows(9, 9)));
    expect((await run(jobId)).summary).toMatchObject({ unchanged: 1, updated: 1, skipped: 0 });
  });
});

describe('prices at five times or a fifth of the previous ones', () => {
  const priced = (prices: number[]) => csvOf(prices.map((price, at) => `S${at},Name,${price}`));
  const of = (jumps: number, others: number, price: number) =>
    priced([...Array<number>(jumps).fill(price), ...Array<number>(others).fill(11)]);
  const before = (count: number) => priced(Array<number>(count).fill(10));

  it.each([
    [10, 190, 50, true],
    [10, 0, 2, true],
    [10, 0, 0, true],
    [9, 0, 50, false],
    [10, 191, 50, false],
    [10, 0, 49.9999, false],
    [10, 0, 2.0001, false],
  ])(
    'are one warning of a run and a plan: %p beside %p others, 10 becomes %p: %p',
    async (jumps, others, price, isWarned) => {
      const { load } = partner(`Jumps ${jumps} ${others} ${price}`);
      await load(before(jumps + others));
      const csv = of(jumps, others, price);
      const { jobId } = await service.api.uploadFeed(csv, `Jumps ${jumps} ${others} ${price}`);
      const jumpsOf = (counts: { code: string }[]) => counts.filter(({ code }) => code === 'price_jump');
      const expected = isWarned ? [{ code: 'price_jump', severity: 'warning', count: 1 }] : [];

      const { body: plan } = await service.api.post(`/jobs/${jobId}/plan`);
      expect(jumpsOf(plan.issue_counts)).toMatchObject(expected);
      const { body: job } = await service.api.post(`/jobs/${jobId}/run`);

      expect(job).toMatchObject({ status: 'completed', summary: { updated: jumps + others } });
      expect(jumpsOf(job.issue_counts)).toMatchObject(expected);
      const { body } = await service.api.get(`/jobs/${jobId}/issues?code=price_jump`);
      const place = { line: 1, row: 0, sku: null, field: 'price', value: `${jumps} of ${jumps + others}` };
      expect(body.items).toMatchObject(isWarned ? [place] : []);
    },
  );

  it('are compared in one currency, of active products with a price', async () => {
    const { load } = partner('Not compared');
    const header = 'sku,product_name,price,currency';
    const lines = (price: number, currency: string) =>
      Array.from({ length: 10 }, (_, at) => `S${at},Name,${price},${currency}`);
    await load(csvOf(lines(0, 'EUR'), header));
    const strict = { max_price_jump_percent: '0' };
    for (const [price, currency] of [
      [10, 'EUR'],
      [1000, 'CZK'],
    ] as const) {
      const { job } = await load(csvOf(lines(price, currency), header), strict);
      expect(job).toMatchObject({ status: 'completed', summary: { updated: 10 }, issue_counts: [] });
    }
  });

  it('fail a run and its plan above max_price_jump_percent, and change nothing', async () => {
    const { load } = partner('Jump limit');
    await load(before(3));
    const csv = of(1, 2, 100);

    const { job, jobId } = await load(csv, { max_price_jump_percent: '33.3' });

    const reason =
      '1 of 3 changed prices rose or fell by a factor of five or more: more than the 33.3 % that max_price_jump_percent allows.';
    expect(job).toMatchObject({ status: 'failed', summary: { updated: 0 } });
    expect(job.message).toContain(reason);
    const { body: plan } = await service.api.post(`/jobs/${jobId}/plan`);
    expect(JSON.stringify(plan)).toContain(reason);
    const { body: feed } = await service.api.get(`/feeds/${job.feed_id}`);
    expect(feed.max_price_jump_percent).toBe(33.3);
    expect((await load(csv, { max_price_jump_percent: '33.4' })).job.summary).toMatchObject({ updated: 3 });
  });
});

describe('max_skipped_percent', () => {
  it('fails a run that skips more rows, and changes nothing', async () => {
    const { load } = partner('Skips');
    const csv = csvOf([...rows(1, 3), 'S4,Name,NA']);

    const failed = await load(csv, { max_skipped_percent: '24.9' });

    expect(failed.job).toMatchObject({ status: 'failed', summary: { processed: 1, skipped: 1 } });
    expect(failed.job.message).toContain(
      '1 of 4 rows were skipped, more than the 24.9 % that max_skipped_percent allows.',
    );
    expect(await skusOf('Skips')).toEqual([]);
    expect((await load(csv, { max_skipped_percent: '25' })).job.status).toBe('completed');
  });

  it.each([
    [
      'unknown skus',
      { mode: 'update' },
      ['S1,Name 1,2', 'S8,Name,NA', 'S9,Name,1'],
      ['3 invalid_price', '4 unknown_sku'],
    ],
    ['repeated skus', {}, ['S1,Name 1,2', 'S8,Name,NA', 'S1,Name,1'], ['2 duplicate_sku', '3 invalid_price']],
  ])(
    'counts %s, in the plan as in the run, which lists them in issues and rejects',
    async (what, fields, lines, places) => {
      const code = places.map((place) => place.slice(2)).find((one) => one !== 'invalid_price')!;
      const { load } = partner(`Skips ${what}`);
      await load(csvOf(rows(1, 1)));

      const { job, jobId } = await load(csvOf(lines), { ...fields, max_skipped_percent: '50' });

      expect(job).toMatchObject({ status: 'failed', summary: { processed: 2, skipped: 2, updated: 0 } });
      expect(job.message).toContain('2 of 3 rows were skipped');
      expect(job.issue_counts).toMatchObject([
        { code: 'invalid_price', count: 1 },
        { code, count: 1 },
      ]);
      const { body: issues } = await service.api.get(`/jobs/${jobId}/issues`);
      const place = ({ line, ...issue }: { line: number; code: string }) => `${line} ${issue.code}`;
      expect(issues.items.map(place)).toEqual([...places]);
      const { status, message, summary, issue_counts } = job;
      const { body: plan } = await service.api.post(`/jobs/${jobId}/plan`);
      expect(plan).toMatchObject({ status, message, summary, issue_counts });
      const rejects = (await service.api.get(`/jobs/${jobId}/rejects.csv`)).body as string;
      const codes = rejects.split('\n').map((row) => row.split(',')[1]);
      expect(codes.filter((one) => one === 'invalid_price' || one === code)).toHaveLength(2);
    },
  );
});

describe('a plan of a replace feed', () => {
  it('lists rows in the order of the file, then withdrawals, in pages', async () => {
    const { load } = partner('Plans');
    await load(csvOf(rows(1, 6)));
    await load(csvOf(rows(1, 5)), replace);
    const { jobId } = await service.api.uploadFeed(
      csvOf(['S7,Name 7,1', 'S6,Name 6,2', 'S1,Name 1,1']),
      'Plans',
      replace,
    );

    for (const limit of [1, 2, 3, 100]) {
      const items: unknown[] = [];
      let cursor = '';
      do {
        const { body } = await service.api.post(`/jobs/${jobId}/plan?limit=${limit}&cursor=${cursor}`);
        expect(body.summary).toMatchObject({ inserted: 1, updated: 1, restored: 1, withdrawn: 4 });
        items.push(
          ...body.items.map(({ sku, action, row, line }: Record<string, unknown>) => [
            sku,
            action,
            row,
            line,
          ]),
        );
        cursor = body.next_cursor ?? '';
      } while (cursor !== '');
      expect([limit, items]).toEqual([
        limit,
        [
          ['S7', 'insert', 1, 2],
          ['S6', 'restore', 2, 3],
          ...['S2', 'S3', 'S4', 'S5'].map((sku) => [sku, 'withdraw', null, null]),
        ],
      ]);
    }
  });

  it('has no next page if only the counters are requested', async () => {
    const { load } = partner('Plan counters');
    await load(csvOf(rows(1, 2)));
    const { jobId } = await service.api.uploadFeed(csvOf(rows(2, 3)), 'Plan counters', replace);

    const { body } = await service.api.post(`/jobs/${jobId}/plan?limit=0`);

    expect(body).toMatchObject({ summary: { inserted: 1, withdrawn: 1 }, count: 0 });
    expect(body).not.toHaveProperty('next_cursor');
  });

  it('fails like the run, and lists the withdrawals that it would make', async () => {
    const { load } = partner('Plan guard');
    await load(csvOf(rows(1, 2)));
    const { jobId } = await service.api.uploadFeed(csvOf([]), 'Plan guard', replace);

    const { body } = await service.api.post(`/jobs/${jobId}/plan`);

    expect(body).toMatchObject({ status: 'failed', summary: { would_withdraw: 2 }, count: 2 });
  });
});

function partner(name: string) {
  return {
    load: (csv: string, fields: Record<string, string> = {}, query = '') =>
      service.api.loadFeed(csv, name, fields, query),
    run: async (jobId: string, query = '') => (await service.api.post(`/jobs/${jobId}/run${query}`)).body,
  };
}
