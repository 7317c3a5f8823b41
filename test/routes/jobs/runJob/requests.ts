import { startTestService, type TestService } from '../../../support/service';

/** The service of the importing test file. */
export let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

export const csv =
  'sku,product_name,price\nTENT-2,Two-person tent,189.90\nLAMP-1,Head lamp,24.50\nROPE,Rope,NA\n';
export const run = (jobId: string) => service.api.post(`/jobs/${jobId}/run`);

/** The partner's products with all columns and row versions, which change with every write. */
export async function products(partnerName: string): Promise<Record<string, unknown>[]> {
  return service
    .db('products')
    .join('partners', 'partners.partner_id', 'products.partner_id')
    .where({ partner_name: partnerName })
    .orderBy('product_id')
    .select('products.*', service.db.raw('products.xmin::text as version'));
}
