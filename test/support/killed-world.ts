import type { Database } from '../../src/base/db/database';
import type { ObjectStore } from '../../src/base/storage/object-store';
import { createTestDatabase } from './databases';
import { findBroken } from './service-invariants';
import { PostgresProxy, type DatabaseCall } from './postgres-proxy';
import { startService, type ServiceProcess } from './process';
import { testKey } from './service';

/** A service that can be killed and restarted, on a persistent database and store. */
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
  // The proxy matches texts of statements, which prepared statements send only once.
  const env = {
    ...storeEnv,
    DATABASE_URL: proxy.url,
    DATABASE_PREPARED_STATEMENTS: 'off',
    API_KEYS: testKey,
  };
  return { db, proxy, objectStore, env, service: await startService({ env }) };
}

/** Kills the service with its held work, and restarts it. Then all invariants must hold. */
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

/** Matches the commit of a transaction with such a statement: background tasks commit too. */
export const commits =
  (text: string, applicationName = 'api') =>
  (call: DatabaseCall) =>
    says('commit;', applicationName)(call) &&
    call.transaction.some((sql) => sql.toLowerCase().includes(text));

let partners = 0;
export const newPartner = () => `Partner ${++partners}`;
