import { ok } from '@oazapfts/runtime';
import * as api from './client';
import { file, notFound, orderOf, storyOf, unknownOrder, type Program } from '../story';

// By default it accepts JSON alone.
const csv = { headers: { Accept: 'text/csv' } };

export const program: Program = async (url, key, partnerName) => {
  Object.assign(api.defaults, { baseUrl: url, headers: { 'x-api-key': key } });
  const receipt = await ok(api.uploadFeed({ partner_name: partnerName, file: file() }));
  const job = await ok(api.runJob(receipt.validation_job_id));
  const issues = await ok(api.listJobIssues(receipt.validation_job_id));
  const rejects = await ok(api.downloadJobRejects(receipt.validation_job_id, {}, csv));
  const products = (await ok(api.listProducts({ partnerName }))).items;
  const order = await ok(api.createOrder(orderOf(partnerName, products)));
  const sales = await ok(api.getSalesByPartner());
  const failed = [
    await api.getOrder(unknownOrder, { prefer: notFound }),
    await api.listProducts({ limit: 0 }),
  ];
  const errorCodes = failed.map(({ headers }) => headers.get('x-error-code'));
  return storyOf({ partnerName, job, issues, rejects, products, order, sales, errorCodes });
};
