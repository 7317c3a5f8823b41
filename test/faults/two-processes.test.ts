import { formatId } from '../../src/shared/ids';
import type { ApiClient } from '../support/api-client';
import { eventually } from '../support/harness';
import { Load } from '../support/load';
import type { ServiceProcess } from '../support/process';
import { SeveralProcesses, ways } from '../support/faults';

const skus = Array.from({ length: 300 }, (_, at) => `S${at}`);

function feed(price: number, order: readonly string[] = skus): string {
  return ['sku,product_name,price', ...order.map((sku) => `${sku},${sku},${price}`)].join('\n');
}

const run = (api: ApiClient, jobId: string) => api.post(`/jobs/${jobId}/run`);

/** On one database and one bucket. */
describe.each(ways)('two processes, %s', (way) => {
  let both: SeveralProcesses;
  let one: ApiClient;
  let other: ApiClient;

  beforeAll(async () => {
    both = await SeveralProcesses.start(way, 0);
    [one, other] = both.clients;
  });

  afterAll(() => both.stop());

  async function expectIntact(): Promise<void> {
    expect(await both.findBroken()).toEqual([]);
  }

  describe('concurrently, in two processes', () => {
    it('of two runs of one job, one loads it, and the other gets 409, the same result, or finds it unchanged', async () => {
      for (let round = 1; round <= 5; round++) {
        const { jobId } = await one.uploadFeed(feed(round), `Round ${round}`);

        const answers = await Promise.all([run(one, jobId), run(other, jobId), run(one, jobId)]);

        const ended = answers.filter(({ status }) => status === 200).map(({ body }) => body);
        const runs = new Map(ended.map((body) => [body.started_at, body.summary as { inserted: number }]));
        const done = [...runs.values()];
        expect(done.length).toBeGreaterThan(0);
        expect(answers.filter(({ status }) => status === 409)).toHaveLength(answers.length - ended.length);
        for (const summary of done) expect(summary).toMatchObject({ processed: 300, updated: 0, skipped: 0 });
        const { body: job } = await one.get(`/jobs/${jobId}`);
        expect(job.status).toBe('completed');
        const inserted = done.reduce((sum, summary) => sum + summary.inserted, 0);
        expect(inserted).toBe(300);
      }
      await expectIntact();
    });

    it('two feeds of one partner in opposite order of rows both load, and the last one wins completely', async () => {
      for (let round = 1; round <= 5; round++) {
        const partner = `Opposite ${round % 2}`;
        const [up, down] = await Promise.all([
          one.uploadFeed(feed(2 * round), partner),
          other.uploadFeed(feed(2 * round + 1, skus.toReversed()), partner),
        ]);

        const answers = await Promise.all([run(one, up.jobId), run(other, down.jobId)]);

        expect(answers.map(({ status, body }) => [status, body.status as string])).toEqual([
          [200, 'completed'],
          [200, 'completed'],
        ]);
        const changed = answers.map(
          ({ body }) => Number(body.summary.inserted) + Number(body.summary.updated),
        );
        expect(changed).toEqual([300, 300]);
        const prices = await both
          .db('products')
          .join('partners', 'partners.partner_id', 'products.partner_id')
          .where('partner_name', partner)
          .groupBy('price')
          .select('price', both.db.raw('count(*) as count'));
        expect(prices).toEqual([{ price: expect.stringMatching(/^\d+\.0000$/) as string, count: 300 }]);
      }
      await expectIntact();
    });

    it('orders during a run that changes prices have the prices of one snapshot, and the right total', async () => {
      const [low, high] = [
        await one.uploadFeed(feed(10), 'Prices'),
        await one.uploadFeed(feed(20, skus.toReversed()), 'Prices'),
      ];
      await run(one, low.jobId);
      const { body } = await one.get('/products?partner_name=Prices&limit=5');
      const items = (body.items as { product_id: string }[]).map(({ product_id }) => ({
        product_id,
        quantity: 3,
      }));
      let isOver = false;
      const seen = new Set<number>();
      const ordering = [one, other, one, other].map(async (api) => {
        while (!isOver) {
          const { status, body: order } = await api.post('/orders', { partner_name: 'Buyer', items });
          expect(status).toBe(201);
          const prices = new Set(
            (order.items as { unit_price: number }[]).map(({ unit_price }) => unit_price),
          );
          const [price] = prices;
          expect({ prices: prices.size, known: price === 10 || price === 20 }).toEqual({
            prices: 1,
            known: true,
          });
          expect(order.total_amount).toBe(price! * 3 * items.length);
          seen.add(price!);
        }
      });
      try {
        for (let round = 1; round <= 5; round++) {
          for (const [api, { jobId }] of [
            [other, high],
            [one, low],
          ] as const) {
            const { body: job } = await run(api, jobId);
            expect(job).toMatchObject({ status: 'completed', summary: { updated: 300 } });
          }
        }
      } finally {
        isOver = true;
        await Promise.all(ordering);
      }
      expect(seen).toEqual(new Set([10, 20]));
      await expectIntact();
    });
  });

  describe('uploads, runs and orders at once in two processes', () => {
    it('survive a kill and restart of one, and then of the other', async () => {
      const { apis: processes, db } = both;
      const alive = new Set<ServiceProcess>(processes);
      let turn = 0;
      const load = await Load.start(() => [...alive][turn++ % alive.size]?.api);
      const moreWork = async () => {
        const before = load.done;
        await eventually('work is done', () => load.done > before + 20);
      };
      await moreWork();

      for (const at of [0, 1]) {
        const killed = processes[at]!;
        await killed.stop('SIGKILL');
        // The other serves alone, after some clients have found out.
        await moreWork();
        alive.delete(killed);
        await both.startApi(at);
        alive.add(processes[at]!);
        await moreWork();
      }

      await load.stop();
      expect(await load.findBroken(db)).toEqual([]);
      // What a killed process was running, the others have found by now, or find within seconds.
      await eventually('no job is running', async () => {
        expect(await db('validation_jobs').where('status', 'running')).toEqual([]);
      });
      // Neither process works on the queue: what a killed one had not begun waits until it is requested again.
      const requested = db<{ job_id: number }>('validation_jobs').where('status', 'queued');
      for (const { job_id } of await requested.whereNotNull('run_requested_at').select('job_id')) {
        const { body } = await run(both.clients[0], formatId('JV', job_id));
        expect(body.status).toBe('completed');
      }
      await expectIntact();
    });
  });
});
