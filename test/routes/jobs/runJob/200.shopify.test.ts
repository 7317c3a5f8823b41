import { startTestService, type TestService } from '../../../support/service';

const old = `Handle,Title,Vendor,Option1 Value,Variant SKU,Variant Inventory Tracker,Variant Inventory Qty,Variant Inventory Policy,Variant Price,Status
lamp,Lamp,Acme,Red,L-1,shopify,4,deny,20,active
lamp,,,Blue,L-2,shopify,0,deny,21,
lamp,,,,,,,,,
rug,Rug,Acme,Default Title,R-1,shopify,0,continue,50,active
vase,Vase,Acme,Default Title,V-1,,0,deny,9,active
sofa,Sofa,Acme,Left,S-1,shopify,1,deny,500,draft
sofa,,,Right,S-2,shopify,1,deny,500,
`;

const latest = `Title,URL handle,Vendor,Status,SKU,Option1 value,Price,Inventory tracker,Inventory quantity,Continue selling when out of stock
Lamp,lamp,Acme,Active,L-1,Red,20,shopify,4,FALSE
,lamp,,,L-2,Blue,21,shopify,0,FALSE
,lamp,,,,,,,,
Rug,rug,Acme,Active,R-1,Default Title,50,shopify,0,TRUE
Vase,vase,Acme,Active,V-1,Default Title,9,,0,FALSE
Sofa,sofa,Acme,Draft,S-1,Left,500,shopify,1,FALSE
,sofa,,,S-2,Right,500,shopify,1,FALSE
`;

describe('POST /jobs/{job_id}/run of a Shopify export', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
  });

  const productsOf = (partner: string) =>
    service
      .db('products')
      .join('partners', 'partners.partner_id', 'products.partner_id')
      .where({ partner_name: partner })
      .orderBy('sku')
      .select('sku', 'product_name', 'brand', 'price', 'availability', 'product_id');

  it.each([
    ['old', old],
    ['new', latest],
  ])(
    'loads active products with their stock from the %s template, and its own export changes nothing',
    async (partner, file) => {
      const { job } = await service.api.loadFeed(file, partner, { format: 'shopify' });

      expect(job).toMatchObject({ status: 'completed', summary: { processed: 4, inserted: 4, skipped: 0 } });
      const before = await productsOf(partner);
      expect(before.map(({ product_id: _, ...values }) => Object.values(values))).toEqual([
        ['L-1', 'Lamp - Red', 'Acme', '20.0000', 'in_stock'],
        ['L-2', 'Lamp - Blue', 'Acme', '21.0000', 'out_of_stock'],
        ['R-1', 'Rug', 'Acme', '50.0000', null],
        ['V-1', 'Vase', 'Acme', '9.0000', null],
      ]);

      const { status, body } = await service.api.get(`/partners/${partner}/products.csv?format=shopify`);
      const again = await service.api.loadFeed(body, partner, { format: 'shopify' });

      expect([status, again.job.summary]).toMatchObject([200, { processed: 4, unchanged: 4 }]);
      expect(again.job.issue_counts).toMatchObject([{ code: 'no_currency', count: 1 }]);
      expect(await productsOf(partner)).toEqual(before);
    },
  );
});
