import { pipeline } from 'node:stream/promises';
import type { Client } from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { requireLocalProducts } from '../../base/db/layout/product-layout';

/** Tables of the service with their stored columns; a partitioned table counts once. */
const tablesSql = `
  select quote_ident(relname) as name, string_agg(quote_ident(attname), ', ' order by attname) as columns
  from pg_class join pg_attribute on attrelid = pg_class.oid
  where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
    and attnum > 0 and not attisdropped and attgenerated = ''
  group by relname order by relname`;

const sequencesSql = `
  select quote_ident(sequencename) as name, last_value as last
  from pg_sequences where schemaname = 'public' order by sequencename`;

/** Tables of the migrations, and the identity: each database keeps its own. */
const keptTables = /^((knex|schema)_migrations(_lock)?|database_identity)$/;

/** Tables that are not empty in a service with data. */
const filledTables = ['partners', 'feeds', 'orders'];

interface Table {
  name: string;
  columns: string;
}

/** The number of rows of each table that was copied. */
export type CopiedTables = Record<string, number>;

/**
 * Copies all data of the service to another database, which may have another major version of PostgreSQL. Uses one snapshot
 * of the source and one transaction of the target: a failure leaves the target unchanged.
 * Triggers do not fire, as their results are copied too, except for triggers that make the sums of sales be computed anew: the
 * copied sums belong to another server.
 * @param target - a session of a superuser on a database with the same schema, and without data
 * @throws Error when products are distributed, the schemas differ, or the target has data
 */
export async function copyDatabase(source: Client, target: Client): Promise<CopiedTables> {
  await requireLocal(source, 'FROM');
  await requireLocal(target, 'the service');
  await source.query('begin isolation level repeatable read read only');
  await target.query('begin');
  try {
    const tables = await sameTables(source, target);
    await requireEmpty(target);
    await target.query('set local session_replication_role = replica');
    await target.query(`truncate ${tables.map(({ name }) => name).join(', ')}`);
    const copied: CopiedTables = {};
    for (const table of tables) copied[table.name] = await copyTable(source, target, table);
    await copySequences(source, target);
    await target.query('commit');
    return copied;
  } catch (error) {
    await target.query('rollback').catch(() => undefined);
    throw error;
  } finally {
    await source.query('rollback').catch(() => undefined);
  }
}

async function listTables(client: Client): Promise<Table[]> {
  const { rows } = await client.query<Table>(tablesSql);
  return rows.filter(({ name }) => !keptTables.test(name));
}

async function sameTables(source: Client, target: Client): Promise<Table[]> {
  const [targetTables, sourceTables] = [await listTables(target), await listTables(source)];
  if (JSON.stringify(targetTables) === JSON.stringify(sourceTables)) return targetTables;
  throw new Error(
    'The schemas of the two databases differ: migrate FROM with this version first (DATABASE_URL=… npm run migrate).',
  );
}

/** Requires that the products are in one table: this command does not copy shards. */
async function requireLocal(client: Client, name: string): Promise<void> {
  await requireLocalProducts(
    async (text) => (await client.query<{ isLocal: boolean }>(text)).rows,
    () =>
      new Error(
        `The products of the database of ${name} are distributed: make them local first (npm run migrate -- --distribute 0), ` +
          'or copy with the tools of Citus.',
      ),
  );
}

async function requireEmpty(target: Client): Promise<void> {
  for (const name of filledTables) {
    const { rows } = await target.query(`select from ${name} limit 1`);
    if (rows.length > 0) throw new Error(`The database of the service has data (${name}): use a new one.`);
  }
}

async function copyTable(source: Client, target: Client, { name, columns }: Table): Promise<number> {
  // A partitioned table can only be read by a query.
  const rows = source.query(copyTo(`copy (select ${columns} from ${name}) to stdout`));
  const sink = target.query(copyFrom(`copy ${name} (${columns}) from stdin`));
  await pipeline(rows, sink);
  return sink.rowCount;
}

async function copySequences(source: Client, target: Client): Promise<void> {
  const { rows } = await source.query<{ name: string; last: string | null }>(sequencesSql);
  for (const { name, last } of rows) {
    if (last !== null) await target.query('select setval(cast($1 as text)::regclass, $2)', [name, last]);
  }
}
