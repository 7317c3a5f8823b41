import { loadProducts } from '../support/catalog';
import { startTestService, type TestService } from '../support/service';

/** Nothing listens on this port. */
const lostPort = 1;

/** Makes Citus look for a shard on a lost node. */
async function loseShard({ db }: TestService, shard: number): Promise<void> {
  await db.raw("select citus_add_inactive_node('127.0.0.1', ?)", [lostPort]);
  await db.raw('update pg_dist_node set isactive = true where nodeport = ?', [lostPort]);
  await db.raw(
    `update pg_dist_placement set groupid = (select groupid from pg_dist_node where nodeport = ?)
     where shardid = ?`,
    [lostPort, shard],
  );
}

describe('look-ups of sharded products with one lost node', () => {
  it('fail with 503 for the partners of that node, and for no other partner of the same batch', async () => {
    const service = await startTestService();
    const names = Array.from({ length: 8 }, (_, at) => `Partner ${at}`);
    const products: { id: string; partner: string }[] = [];
    for (const partner of names) {
      const { productIds } = await loadProducts(service, [{ sku: 'A' }, { sku: 'B' }], partner);
      products.push(...productIds.map((id) => ({ id, partner })));
    }
    const { rows } = await service.db.raw<{ rows: { partner_name: string; shard: number }[] }>(
      "select partner_name, get_shard_id_for_distribution_column('products', partner_id) as shard from partners",
    );
    const shards = new Map(rows.map(({ partner_name, shard }) => [partner_name, shard]));
    const lost = shards.get(names[0]!)!;
    const expected = products.map(({ partner }) => (shards.get(partner) === lost ? 503 : 200));
    expect(new Set(expected)).toEqual(new Set([503, 200]));
    await loseShard(service, lost);

    const lookUp = ({ id }: { id: string }) => service.api.get(`/products/${id}`);
    for (let round = 0; round < 3; round++) {
      const found = await Promise.all(products.map(lookUp));
      expect(found.map(({ status }) => status)).toEqual(expected);
    }
    expect(await lookUp(products[0]!)).toMatchObject({ status: 503 });
  });
});
