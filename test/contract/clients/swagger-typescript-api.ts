import { Api, type HttpResponse } from './client';
import { codeOfFailure, file, notFound, orderOf, storyOf, unknownOrder, type Program } from '../story';

const codeOf = (request: Promise<unknown>) =>
  codeOfFailure(request, (error: HttpResponse<unknown>) => error.headers.get('x-error-code'));

export const program: Program = async (baseUrl, key, partnerName) => {
  const headers = { 'x-api-key': key };
  const { analytics, feeds, jobs, orders, products } = new Api({
    baseUrl,
    securityWorker: () => ({ headers }),
  });
  const receipt = (await feeds.uploadFeed({ partner_name: partnerName, file: file() })).data;
  const job = (await jobs.runJob(receipt.validation_job_id)).data;
  const issues = (await jobs.listJobIssues(receipt.validation_job_id)).data;
  const rejects = await jobs.downloadJobRejects(receipt.validation_job_id, { format: 'text' });
  const items = (await products.listProducts({ partner_name: partnerName })).data.items;
  const order = (await orders.createOrder(orderOf(partnerName, items))).data;
  const sales = (await analytics.getSalesByPartner()).data;
  const errorCodes = [
    await codeOf(orders.getOrder(unknownOrder, { headers: { Prefer: notFound } })),
    await codeOf(products.listProducts({ limit: 0 })),
  ];
  return storyOf({
    partnerName,
    job,
    issues,
    rejects: rejects.data,
    products: items,
    order,
    sales,
    errorCodes,
  });
};
