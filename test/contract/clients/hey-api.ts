import { client } from './client.gen';
import {
  createOrder,
  downloadJobRejects,
  getOrder,
  getSalesByPartner,
  listJobIssues,
  listProducts,
  runJob,
  uploadFeed,
} from './sdk.gen';
import { file, notFound, orderOf, storyOf, unknownOrder, type Program } from '../story';

export const program: Program = async (baseUrl, auth, partnerName) => {
  client.setConfig({ baseUrl, auth });
  const uploaded = await uploadFeed({ body: { partner_name: partnerName, file: file() } });
  const path = { job_id: uploaded.data!.validation_job_id };
  const job = (await runJob({ path })).data!;
  const issues = (await listJobIssues({ path })).data!;
  const rejects = (await downloadJobRejects({ path })).data!;
  const products = (await listProducts({ query: { partner_name: partnerName } })).data!.items;
  const order = (await createOrder({ body: orderOf(partnerName, products) })).data!;
  const sales = (await getSalesByPartner()).data!;
  const failed = [
    await getOrder({ path: { order_id: unknownOrder }, headers: { Prefer: notFound } }),
    await listProducts({ query: { limit: 0 } }),
  ];
  const errorCodes = failed.map(({ response }) => response.headers.get('x-error-code'));
  return storyOf({ partnerName, job, issues, rejects, products, order, sales, errorCodes });
};
