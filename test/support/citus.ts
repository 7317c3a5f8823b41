import { Client } from 'pg';
import { distributeProducts } from '../../src/operation/database/distribution/distribute';
import { createLog } from '../../src/base/log';
import { openDatabase, type Database, type DatabaseAddress } from '../../src/base/db/database';

/** The Citus coordinator of CITUS_URL, instead of a PostgreSQL of the test run (`make test-citus`). */
export interface Citus {
  address: DatabaseAddress;
  /** Enables Citus in a database; the coordinator stores the shards if there is no worker node. */
  prepare(db: Database): Promise<void>;
  /** Distributes the products of every test database, if TEST_SHARDS is set (`make test-citus DISTRIBUTED=1`). */
  distribute(db: Database): Promise<void>;
  /** Closes the connection of the Citus daemon to a database: a database in use cannot be copied. */
  release(database: string): Promise<void>;
  stop(): Promise<void>;
}

/** Connects to the server of a connection string. Drops the template of an interrupted test run. */
export async function takeCitus(url: string, template: string): Promise<Citus> {
  const { host, port, user, database } = new Client(url);
  const shards = Number(process.env.TEST_SHARDS ?? 0);
  const address = { host, port, user, database };
  const administer = async (...statements: string[]) => {
    const admin = openDatabase(address, { applicationName: 'set-up', connectionsMax: 1 });
    try {
      for (const statement of statements) await admin.raw(statement);
    } finally {
      await admin.destroy();
    }
  };
  const stop = () => administer(`drop database if exists ${template}`);
  await stop();
  return {
    address,
    async prepare(db) {
      await db.raw('create extension citus');
      if (shards === 0) return;
      await db.raw('select citus_set_coordinator_host(?, ?)', [host, port]);
      await db.raw("select citus_set_node_property(?, ?, 'shouldhaveshards', true)", [host, port]);
    },
    distribute: (db) => distributeProducts(db, shards, { log: createLog('warn') }),
    release: (name) =>
      administer(
        `alter database ${name} allow_connections false`,
        `select pg_terminate_backend(pid, 10000) from pg_stat_activity where datname = '${name}'`,
      ),
    stop,
  };
}
