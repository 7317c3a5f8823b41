import { Api, type HttpResponse } from './client';
import { file, notFound, orderOf, pricesOf, unitsOf, unknownOrder, type Program } from '../story';

const codeOf = (request: Promise<unknown>) =>
  request.then(
    () => null,
    (error: HttpResponse<unknown>) => error.headers.get('x-error-code'),
  );

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
  return {
    status: job.status,
    inserted: job.summary!.inserted,
    skipped: job.summary!.skipped,
    issueCodes: issues.items.map(({ code }) => code),
    rejects: rejects.data,
    prices: pricesOf(items),
    total: order.total_amount,
    unitsSold: unitsOf(partnerName, sales.results),
    errorCodes: [
      await codeOf(orders.getOrder(unknownOrder, { headers: { Prefer: notFound } })),
      await codeOf(products.listProducts({ limit: 0 })),
    ],
  };
};
