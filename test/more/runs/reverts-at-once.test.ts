import { mebibyte } from '../../support/harness';
import { startTestService, type TestService } from '../../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService({ uploadBytesMax: 64 * mebibyte });
  // The state right after a load.
  await service.db.raw(`
    alter table products set (autovacuum_enabled = off);
    alter table product_versions set (autovacuum_enabled = off)`);
});

const feedOf = (products: number, price: number) =>
  `sku,product_name,price\n${Array.from({ length: products }, (_, at) => `S${at},Tent,${price}\n`).join('')}`;

it.each([40_000, 400_000])(
  'previews, lists and reverts %d changes with statistics from before them',
  async (products) => {
    const partner = `Partner of ${products}`;
    await service.api.loadFeed(feedOf(products, 1), partner);
    const { jobId } = await service.api.loadFeed(feedOf(products, 2), partner);

    // A statement that takes longer than a minute is 503.
    const preview = await service.api.post(`/jobs/${jobId}/revert?run=1&dry_run=true&limit=1000`);
    expect([preview.status, preview.body.summary]).toMatchObject([200, { updated: products }]);
    expect(preview.body.items).toHaveLength(1_000);
    const changes = await service.api.get(`/jobs/${jobId}/changes?run=1&limit=1000`);
    expect([changes.status, changes.body.count]).toEqual([200, 1_000]);
    const reverted = await service.api.post(`/jobs/${jobId}/revert?run=1`);
    expect([reverted.status, reverted.body.summary]).toMatchObject([200, { updated: products }]);
  },
  15 * 60_000,
);
