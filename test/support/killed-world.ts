import type { Database } from '../../src/base/db/database';
import type { ObjectStore } from '../../src/base/storage/object-store';
import { createTestDatabase } from './databases';
import { findBroken } from './service-invariants';
import { PostgresProxy, type DatabaseCall } from './postgres-proxy';
import { startService, type ServiceProcess } from './process';
import { testKey } from './service';

/** A service that is killed and started again, on a database and a store that stay. */
export interface World {
  db: Database;
  proxy: PostgresProxy;
  objectStore: ObjectStore;
  env: Record<string, string>;
  service: ServiceProcess;
}

export async function startWorld(storeEnv: Record<string, string>, objectStore: ObjectStore): Promise<World> {
  const { address, db } = await createTestDatabase();
  const proxy = await PostgresProxy.to(address);
  // The proxy looks at texts of statements, which prepared ones send once.
  const env = {
    ...storeEnv,
    DATABASE_URL: proxy.url,
    DATABASE_PREPARED_STATEMENTS: 'off',
    API_KEYS: testKey,
  };
  return { db, proxy, objectStore, env, service: await startService({ env }) };
}

/** Kills the service with what it was doing held where it is, and starts it again. Nothing must be broken then. */
export async function killAndRestart(world: World): Promise<void> {
  await world.service.stop('SIGKILL');
  world.service = await startService({ env: world.env });
  const { db, objectStore, service } = world;
  expect(await findBroken({ db, objectStore, apis: [service.api] }, { orphans: true })).toEqual([]);
}

export const says =
  (text: string, applicationName = 'api') =>
  (call: DatabaseCall) =>
    call.applicationName === applicationName && call.sql.toLowerCase().includes(text);

/** The commit of a transaction with such a statement: background tasks of the process commit too. */
export const commits =
  (text: string, applicationName = 'api') =>
  (call: DatabaseCall) =>
    says('commit;', applicationName)(call) &&
    call.transaction.some((sql) => sql.toLowerCase().includes(text));

let partners = 0;
export const newPartner = () => `Partner ${++partners}`;
