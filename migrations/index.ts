import type { Knex } from 'knex';
import * as createCatalog from './20261121090000_create_catalog';

/** Every migration, in the order in which they run. A migration that has landed is never edited. */
export const migrations: Record<string, Knex.Migration> = {
  '20261121090000_create_catalog': createCatalog,
};
