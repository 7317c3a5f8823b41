import type { DatabaseAddress } from '../../src/db/database';

/** The migrated, empty database that every test's own database is a copy of. */
export const templateDatabase = 'catalog_template';

/** What the global set-up hands to the test files. */
export interface Shared {
  address: DatabaseAddress;
  /** Where services find the server behind a pooler; absent: they go to it directly. */
  pooler?: Pick<DatabaseAddress, 'host' | 'port'>;
  s3Endpoint: string;
  s3Bucket: string;
}

export function shared(): Shared {
  return JSON.parse(process.env.CATALOG_TEST_SHARED!) as Shared;
}

/** The way that a service takes to a database of the shared server: as the tests do, or through the pooler. */
export function serviceWay(address: DatabaseAddress): DatabaseAddress {
  const { address: server, pooler } = shared();
  return address.host === server.host ? { ...address, ...pooler } : address;
}
