import { aTimestamp, limitTwice, wrongLimits } from '../../support/expectations';
import { eventually } from '../../support/harness';
import { startTestService, withStoredKey, type TestService } from '../../support/service';

const csv = 'sku,product_name\nA,A\n';
const none = { waiting: 0, running: 0, oldest_requested_at: null };

const get = (service: TestService, query: Record<string, string> = {}) =>
  service.api.get(`/queue?${new URLSearchParams(query).toString()}`);

/** Requests a run of a new feed; the service has no worker. */
async function leaveWaiting(service: TestService, partnerName: string): Promise<void> {
  const { jobId } = await service.api.uploadFeed(csv, partnerName);
  const { status } = await service.api.post(`/jobs/${jobId}/run`, undefined, { prefer: 'respond-async' });
  expect(status).toBe(202);
}

describe('GET /queue', () => {
  describe('200', () => {
    it('is empty when no run is requested', async () => {
      const service = await startTestService();
      await service.api.uploadFeed(csv);
      await service.api.loadFeed(csv);

      const { status, body } = await get(service);

      expect(status).toBe(200);
      expect(body).toEqual({ ...none, count: 0, items: [] });
    });

    describe('with waiting runs of three partners', () => {
      let service: TestService;
      beforeAll(async () => {
        service = await startTestService();
        for (const name of ['Zebra', 'Acme', 'Émile', 'Acme']) await leaveWaiting(service, name);
      });

      it('counts them in total and per partner, and returns when the oldest one was requested', async () => {
        const requested = await service.db('runs').orderBy('requested_at').pluck('requested_at');
        const [ofZebra, ofAcme, ofEmile] = (requested as Date[]).map((time) => time.toISOString());

        const { body } = await get(service);

        expect(body).toEqual({
          waiting: 4,
          running: 0,
          oldest_requested_at: ofZebra,
          count: 3,
          items: [
            { partner_name: 'Acme', waiting: 2, running: 0, oldest_requested_at: ofAcme },
            { partner_name: 'Zebra', waiting: 1, running: 0, oldest_requested_at: ofZebra },
            { partner_name: 'Émile', waiting: 1, running: 0, oldest_requested_at: ofEmile },
          ],
        });
      });

      it('returns each partner once over all pages, each with the totals', async () => {
        const seen: string[] = [];
        let cursor: string | undefined = '';
        while (cursor !== undefined) {
          const { body } = await get(service, { limit: '1', cursor });
          expect(body).toMatchObject({ waiting: 4, count: 1 });
          seen.push(body.items[0].partner_name);
          cursor = body.next_cursor;
        }
        expect(seen).toEqual(['Acme', 'Zebra', 'Émile']);
      });

      it('returns the totals after the last partner', async () => {
        expect((await get(service, { cursor: 'é' })).body).toMatchObject({ waiting: 4, count: 0, items: [] });
      });
    });

    it('counts runs in progress separately, including reverts', async () => {
      const service = await startTestService();
      const load = await service.api.uploadFeed(csv, 'Loading');
      await service.api.loadFeed(csv, 'Reverting');
      const inQueue = (partnerName: string) => ({
        requested_at: new Date(),
        attempts_left: 1,
        partner_id: service.db('partners').select('partner_id').where('partner_name', partnerName),
      });
      const revert = { job_id: 2, kind: 'revert', reverts_run: 1, ...inQueue('Reverting') };
      await service.db('runs').insert({ ...revert, run: 2, status: 'queued' });
      await service.db('runs').insert({ ...revert, run: 3, status: 'running' });
      const jobId = Number(load.jobId.slice(2));
      await service.db('runs').insert({ job_id: jobId, run: 1, status: 'running', ...inQueue('Loading') });

      const { body } = await get(service);

      expect(body).toEqual({
        waiting: 1,
        running: 2,
        oldest_requested_at: aTimestamp,
        count: 2,
        items: [
          { ...none, partner_name: 'Loading', running: 1 },
          { partner_name: 'Reverting', waiting: 1, running: 1, oldest_requested_at: aTimestamp },
        ],
      });
    });

    it('is empty again when a queued run has ended', async () => {
      const service = await startTestService({ queuedRuns: 1 });
      const { jobId } = await service.api.uploadFeed(csv);
      await service.api.post(`/jobs/${jobId}/run`, undefined, { prefer: 'respond-async' });

      await eventually('the queue is empty', async () => (await get(service)).body.count === 0);

      expect((await service.api.get(`/jobs/${jobId}`)).body.status).toBe('completed');
    });
  });

  describe('400', () => {
    it.each(['cursor=%00', 'cursor=a&cursor=b', 'cursor=%00&limit=0'])(
      'rejects a cursor that cannot be a name: %s',
      async (query) => {
        const service = await startTestService();

        const { status, body } = await service.api.get(`/queue?${query}`);

        expect(status).toBe(400);
        expect(body).toEqual({ detail: 'Invalid cursor value.' });
      },
    );
  });

  describe('403', () => {
    it('rejects a key that is limited to a partner, and names the partner', async () => {
      const service = await startTestService();
      const limited = await withStoredKey(service, 'Acme');

      const { status, body } = await limited.get('/queue');

      expect(status).toBe(403);
      expect(body).toEqual({ detail: 'This API key is limited to partner Acme.' });
    });
  });

  describe('422', () => {
    let service: TestService;
    beforeAll(async () => {
      service = await startTestService();
    });

    it.each(wrongLimits)('rejects the limit %j', async (limit, entry) => {
      const { status, body } = await get(service, { limit });

      expect(status).toBe(422);
      expect(body).toEqual({ detail: [entry] });
    });

    it('rejects a repeated limit', async () => {
      const { status, body } = await service.api.get('/queue?limit=5&limit=5');

      expect(status).toBe(422);
      expect(body).toEqual({ detail: [limitTwice] });
    });
  });
});
