import type { DatabaseAddress } from '../../src/db/database';

/** The migrated, empty database that every test's own database is a copy of. */
export const templateDatabase = 'catalog_template';

/** What the global set-up hands to the test files. */
export interface Shared {
  address: DatabaseAddress;
  s3Endpoint: string;
  s3Bucket: string;
}

export function shared(): Shared {
  return JSON.parse(process.env.CATALOG_TEST_SHARED!) as Shared;
}
