import type { Config } from '../../config';
import { clusterOutside } from './data-dir';

/** Returns the text for a first user: address, key, location of the data, and commands to try. */
export function banner(url: string, key: string, { dataDir, servicePages }: Config): string {
  const header = `-H 'x-api-key: ${key}'`;
  return `
Partner Catalog Integration Service

  address  ${url}
  API key  ${key}
  data     ${dataDir}${databaseText(dataDir)}${servicePages ? `\n  console  ${url}/console\n  docs     ${url}/docs` : ''}

Upload a feed, run its validation job, and look at the products:

  job=$(printf 'sku,product_name,price,currency\\nTENT-2,Two-person tent,189.90,EUR\\n' | curl -s ${header} -F 'partner_name=Acme Outdoor' -F 'file=@-;filename=feed.csv;type=text/csv' ${url}/feeds/upload | sed -E 's/.*"validation_job_id":"([^"]+)".*/\\1/'); echo "$job"
  curl -s -X POST ${header} ${url}/jobs/$job/run
  curl -s ${header} ${url}/products

`;
}

/** Returns the line of a database outside of the data folder. */
function databaseText(dataDir: string): string {
  const folder = clusterOutside(dataDir);
  return folder === undefined
    ? ''
    : `\n  database ${folder} (PostgreSQL cannot reach the data folder: \`make backup\` copies both)`;
}
