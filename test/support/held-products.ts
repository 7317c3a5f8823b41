import { Client } from 'pg';
import type { DatabaseAddress } from '../../src/db/database';
import { afterFile } from './after-file';
import type { ApiClient, ApiResponse, UploadedFeed } from './api-client';
import { eventually } from './eventually';

/** The answer to a run that goes on; undefined when its connection is cut. */
export interface RunInFlight {
  answer: Promise<ApiResponse | undefined>;
}

/** Keeps everybody from writing to a table, until the client is ended. Reading goes on. */
async function holdTable(address: DatabaseAddress, table: 'products' | 'orders'): Promise<Client> {
  const client = new Client({ ...address, application_name: 'test hold' });
  // Tests kill databases.
  client.on('error', () => undefined);
  await client.connect();
  await client.query(`begin; lock table ${table} in exclusive mode`);
  return client;
}

/** Keeps every order of one database from being created. @returns what lets them go on, at the latest after the file */
export async function holdOrders(address: DatabaseAddress): Promise<() => Promise<void>> {
  const client = await holdTable(address, 'orders');
  const release = () => client.end().catch(() => undefined);
  afterFile(release);
  return release;
}

/** Keeps every run of one database from changing products: it stays in flight for as long as a test needs. */
export class HeldProducts {
  private constructor(private readonly client: Client) {}

  static async of(address: DatabaseAddress): Promise<HeldProducts> {
    const held = new HeldProducts(await holdTable(address, 'products'));
    afterFile(() => held.release());
    return held;
  }

  /** Runs a feed's job, and waits until it cannot go on. */
  async run(api: ApiClient, { jobId }: UploadedFeed): Promise<RunInFlight> {
    const answer = api.post(`/jobs/${jobId}/run`).catch(() => undefined);
    await eventually('the run waits for the products', async () => {
      const { rowCount } = await this.client.query(
        "select from pg_locks where not granted and relation = 'products'::regclass and database = (select oid from pg_database where datname = current_database())",
      );
      return rowCount === 1;
    });
    return { answer };
  }

  /** Lets the runs go on. Nothing happens if the database is gone. */
  async release(): Promise<void> {
    await this.client.end().catch(() => undefined);
  }
}
