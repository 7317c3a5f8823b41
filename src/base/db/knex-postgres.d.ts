/** The type of knex's PostgreSQL dialect, extended as its CONTRIBUTING.md shows; knex declares none. */
declare module 'knex/lib/dialects/postgres/index.js' {
  import type { Knex } from 'knex';

  const PostgresDialect: typeof Knex.Client;
  export = PostgresDialect;
}
