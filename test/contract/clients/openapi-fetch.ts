import { connect } from './client';
import { file, notFound, orderOf, storyOf, unknownOrder, type Program } from '../story';

export const program: Program = async (url, key, partnerName) => {
  const client = connect(url, key);
  const uploaded = await client.POST('/feeds/upload', {
    body: { partner_name: partnerName, file: '' },
    bodySerializer: ({ partner_name }) => {
      const form = new FormData();
      form.set('partner_name', partner_name);
      form.set('file', file());
      return form;
    },
  });
  const path = { job_id: uploaded.data!.validation_job_id };
  const job = (await client.POST('/jobs/{job_id}/run', { params: { path } })).data!;
  const issues = (await client.GET('/jobs/{job_id}/issues', { params: { path } })).data!;
  const rejects = await client.GET('/jobs/{job_id}/rejects.csv', { params: { path }, parseAs: 'text' });
  const query = { partner_name: partnerName };
  const products = (await client.GET('/products', { params: { query } })).data!.items;
  const order = (await client.POST('/orders', { body: orderOf(partnerName, products) })).data!;
  const sales = (await client.GET('/analytics/sales-by-partner')).data!;
  const failed = [
    await client.GET('/orders/{order_id}', {
      params: { path: { order_id: unknownOrder } },
      headers: { prefer: notFound },
    }),
    await client.GET('/products', { params: { query: { limit: 0 } } }),
  ];
  const errorCodes = failed.map(({ response }) => response.headers.get('x-error-code'));
  return storyOf({ partnerName, job, issues, rejects: rejects.data!, products, order, sales, errorCodes });
};
