/** knex's dialect for PostgreSQL, to be extended as its CONTRIBUTING.md shows; it has no types of its own. */
declare module 'knex/lib/dialects/postgres/index.js' {
  import type { Knex } from 'knex';

  const PostgresDialect: typeof Knex.Client;
  export = PostgresDialect;
}
