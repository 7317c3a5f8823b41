import {
  createOrder,
  downloadJobRejects,
  getOrder,
  getSalesByPartner,
  listJobIssues,
  listProducts,
  runJob,
  uploadFeed,
} from './client';
import { connection, type ApiError } from './mutator';
import { codeOfFailure, file, notFound, orderOf, storyOf, unknownOrder, type Program } from '../story';

const codeOf = (request: Promise<unknown>) => codeOfFailure(request, (error: ApiError) => error.code);

export const program: Program = async (url, key, partnerName) => {
  Object.assign(connection, { url, key });
  const receipt = await uploadFeed({ partner_name: partnerName, file: file() });
  const job = await runJob(receipt.validation_job_id);
  const issues = await listJobIssues(receipt.validation_job_id);
  const rejects = await downloadJobRejects(receipt.validation_job_id);
  const products = (await listProducts({ partner_name: partnerName })).items;
  const order = await createOrder(orderOf(partnerName, products));
  const sales = await getSalesByPartner();
  const errorCodes = [
    await codeOf(getOrder(unknownOrder, { headers: { Prefer: notFound } })),
    await codeOf(listProducts({ limit: 0 })),
  ];
  return storyOf({ partnerName, job, issues, rejects, products, order, sales, errorCodes });
};
