import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { connectTo, startServiceProcess } from '../service-process';
import { fillCatalog } from './catalog-data';
import { measureListing } from './catalog-listing';
import { measureThroughput } from './catalog-throughput';
import { untilIndexed } from './neighbors';
import type { BenchContext, Measurement } from './report';

const key = 'key-of-the-benchmark';

/** Measures the catalog of a service (embedded PostgreSQL), filled by SQL. */
export async function measureCatalog(context: BenchContext): Promise<Measurement[]> {
  return [...(await measureServers(context)), ...(await measureListing(context))];
}

/** Measures the service beside other servers, on one catalog. */
async function measureServers(context: BenchContext): Promise<Measurement[]> {
  const products = context.quick ? 100_000 : 1_000_000;
  const dataDir = join(context.folder, 'data');
  mkdirSync(dataDir);
  const service = await startServiceProcess(dataDir, { API_KEYS: key });
  const database = await connectTo(dataDir);
  try {
    context.log(`catalog of ${products.toLocaleString('en')} products`);
    await fillCatalog(products, (sql) => database.query(sql));
    await untilIndexed(database);
    return await measureThroughput(context, {
      url: service.url,
      dataDir,
      key,
      database,
      products,
    });
  } finally {
    await database.end();
    await service.stop();
  }
}
