import { cancelledReason } from '../../../src/base/errors';
import { startTestService, withStoredKey, type TestService } from '../../support/service';
import type { ApiClient } from '../../support/api-client';
import { forgetAll } from '../../support/fuzz';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});
beforeEach(() => forgetAll(service));

const header = 'sku,product_name,price\n';

async function skippedRows(query = '', api: ApiClient = service.api) {
  const { status, body } = await api.get(`/analytics/skipped-rows${query}`);
  expect(status).toBe(200);
  return body;
}

/** Moves the end of a job's runs. */
const endAt = (jobId: string, time: string) =>
  service
    .db('runs')
    .where('job_id', Number(jobId.slice(2)))
    .update({ finished_at: time });

const addFailedLoad = (jobId: string, run: number, reason: string) =>
  service.db('runs').insert({
    job_id: Number(jobId.slice(2)),
    run,
    kind: 'load',
    status: 'failed',
    failure_reason: reason,
    finished_at: new Date(),
    ...{ processed: 0, inserted: 0, updated: 0, unchanged: 0, skipped: 0 },
  });

const dayText = (days: number) => new Date(Date.now() + days * 24 * 3600 * 1000).toISOString().slice(0, 10);

describe('GET /analytics/skipped-rows', () => {
  describe('200', () => {
    it('has no results without loads', async () => {
      expect(await skippedRows()).toEqual({
        analytics_type: 'skipped_rows',
        from: dayText(-29),
        to: dayText(1),
        feeds: 0,
        summary: {
          processed: 0,
          inserted: 0,
          updated: 0,
          unchanged: 0,
          skipped: 0,
          withdrawn: 0,
          restored: 0,
        },
        partners: [],
        results: [],
      });
    });

    it('counts skipped rows by partner and code, most first, with the last feed of each', async () => {
      const first = await service.api.loadFeed(
        `${header}A,Tent,5\nB,Lamp,x\n,Mat,1\nA,Tent 2,5\n`,
        'Birch & Sons',
      );
      const second = await service.api.loadFeed(
        `${header}B,Lamp,x\nC,,0\nD,Mug,y\nsku,product_name,price\n`,
        'Acme',
      );
      const third = await service.api.loadFeed(`${header}A,Tent,x\nE,Cup,0\n`, 'Acme');

      const { feeds, summary, partners, results } = await skippedRows();

      expect({ feeds, summary }).toEqual({
        feeds: 3,
        summary: {
          processed: 10,
          inserted: 2,
          updated: 0,
          unchanged: 0,
          skipped: 8,
          withdrawn: 0,
          restored: 0,
        },
      });
      expect(partners).toEqual([
        { partner_name: 'Acme', feeds: 2, processed: 6, skipped: 5, changed: 1 },
        { partner_name: 'Birch & Sons', feeds: 1, processed: 4, skipped: 3, changed: 1 },
      ]);
      const ofBirch = { partner_name: 'Birch & Sons', rows: 1, feeds: 1, last_feed_id: first.feedId };
      const ofAcme = { partner_name: 'Acme', rows: 1, feeds: 1, last_feed_id: second.feedId };
      expect(results).toEqual([
        { partner_name: 'Acme', code: 'invalid_price', rows: 3, feeds: 2, last_feed_id: third.feedId },
        { ...ofAcme, code: 'missing_required' },
        { ...ofAcme, code: 'repeated_header' },
        { ...ofBirch, code: 'duplicate_sku' },
        { ...ofBirch, code: 'invalid_price' },
        { ...ofBirch, code: 'missing_required' },
      ]);
    });

    it('counts the last load of each feed, unless it failed or is undone', async () => {
      const { jobId } = await service.api.loadFeed(`${header}A,Tent,5\nB,Lamp,x\n`, 'Acme');
      await service.api.post(`/jobs/${jobId}/run`);
      expect(await skippedRows()).toMatchObject({ feeds: 1, summary: { unchanged: 1, skipped: 1 } });

      await service.api.post(`/jobs/${jobId}/revert?run=1`);
      expect(await skippedRows()).toMatchObject({ feeds: 1 });

      const undone = await service.api.loadFeed(`${header}C,Mat,5\nD,Mug,x\n`, 'Acme');
      await service.api.post(`/jobs/${undone.jobId}/revert?run=1`);
      expect(await skippedRows()).toMatchObject({ feeds: 1 });

      await service.api.post(`/jobs/${undone.jobId}/revert?run=2`);
      expect(await skippedRows()).toMatchObject({ feeds: 2 });

      const failed = await service.api.loadFeed(`${header}E,Cup,x\n`, 'Acme', { max_skipped_percent: '10' });
      expect(failed.job.status).toBe('failed');
      expect(await skippedRows()).toMatchObject({ feeds: 2 });

      await addFailedLoad(undone.jobId, 4, cancelledReason);
      expect(await skippedRows()).toMatchObject({ feeds: 2 });

      await addFailedLoad(undone.jobId, 5, 'The products could not be saved.');
      expect(await skippedRows()).toMatchObject({ feeds: 1 });
    });

    it('counts loads of half-open days in UTC', async () => {
      const ends = [
        '2026-02-28T23:59:59.999Z',
        '2026-03-01T00:00:00Z',
        '2026-03-31T23:59:59.999Z',
        '2026-04-01T00:00:00Z',
      ];
      for (const [at, end] of ends.entries()) {
        const { jobId } = await service.api.loadFeed(`${header}A,Tent,x\n`, `P${at}`);
        await endAt(jobId, end);
      }
      const partnersOf = async (query: string) =>
        (await skippedRows(query)).partners.map(({ partner_name: name }: { partner_name: string }) => name);

      expect(await partnersOf('?from=2026-03-01&to=2026-04-01')).toEqual(['P1', 'P2']);
      expect(await partnersOf('?from=&to=2026-03-31')).toEqual(['P1']);
      expect(await partnersOf('?from=2026-04-01&to=2027-01-01')).toEqual(['P3']);
      expect(await skippedRows('?to=2026-03-31')).toMatchObject({ from: '2026-03-01', to: '2026-03-31' });
      expect(await skippedRows(`?from=${dayText(2)}`)).toMatchObject({ from: dayText(2), to: dayText(3) });
      expect(await skippedRows('?from=9999-12-31')).toMatchObject({ to: '9999-12-31' });
      for (const query of ['?from=0000-01-01&to=9999-12-31', '?to=0000-01-01']) {
        expect(await skippedRows(query)).toMatchObject({ from: '0000-01-01' });
      }
    });

    it('filters by partner, and limits both lists', async () => {
      await service.api.loadFeed(`${header}A,Tent,x\nB,,1\n`, 'Acme');
      await service.api.loadFeed(`${header}A,Tent,x\n`, 'Birch');

      expect(await skippedRows('?partner_name=Birch')).toMatchObject({
        feeds: 1,
        partners: [{ partner_name: 'Birch' }],
        results: [{ code: 'invalid_price' }],
      });
      const { feeds, partners, results } = await skippedRows('?limit=1');
      expect([feeds, partners.length, results.length]).toEqual([2, 1, 1]);
    });

    it('shows a key that is limited to a partner only its own feeds', async () => {
      await service.api.loadFeed(`${header}A,Tent,x\n`, 'Acme');
      await service.api.loadFeed(`${header}A,Tent,x\n`, 'Birch');
      const own = await withStoredKey(service, 'Birch');

      expect(await skippedRows('', own)).toMatchObject({ feeds: 1, partners: [{ partner_name: 'Birch' }] });
      expect(await skippedRows('?partner_name=Acme', own)).toMatchObject({
        feeds: 0,
        partners: [],
        results: [],
      });
    });
  });

  it.each([
    'from=2026-02-30',
    'to=2026-3-1',
    'from=x',
    'to=2026-03-01&from=2026-04-01',
    'to=2026-03-01&from=2026-03-01',
    'limit=0',
    'limit=1001',
    'partner_name=%00',
  ])('422: rejects %s', async (query) => {
    const { status, body } = await service.api.get(`/analytics/skipped-rows?${query}`);

    expect(status).toBe(422);
    expect(body.detail).toMatchObject([{ loc: ['query', query.split('=')[0]] }]);
  });
});
