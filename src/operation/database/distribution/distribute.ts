import type { Knex } from 'knex';
import type { Log } from '../../../base/log';
import { ConfigError } from '../../../base/settings';
import { queryRows, type Database } from '../../../base/db/database';
import { localProducts } from '../../../base/db/layout/distributed-tables';
import { raw, sql } from '../../../base/db/sql';
import { listDependents, readDefinition, setOwner, type TableDefinition } from './definition';
import { createObjectsSql, dropObjectsSql, numbersSequence, objectTables } from './objects';

export const shardsDefault = 4;
export const shardsMax = 64;

/** Timeout of the wait for the lock on the products. */
const lockSeconds = 5;

/**
 * Distributes `products` and `product_words` by partner over shards of Citus; 0 makes local tables again. Experimental.
 * One transaction, with a copy of all products. The replaced table stays, empty: writers use it as a pattern.
 * @throws ConfigError when the operator must do something first
 */
export async function distributeProducts(db: Database, shards: number, { log }: { log: Log }): Promise<void> {
  const present = await countShards(db);
  if (present === shards) {
    log.info({ shards }, 'products have that number of shards');
    return;
  }
  if (present > 0 && shards > 0) {
    throw new ConfigError(
      `The products have ${present} shards. Citus changes that by alter_distributed_table; or use --distribute 0 first.`,
    );
  }
  await db.transaction(async (trx) => {
    await queryRows(trx, raw(`set local lock_timeout = '${lockSeconds}s'`));
    await requireNoSessions(trx);
    await requireCitus(trx);
    // Citus refuses to change tables and functions after it has used several connections to a node.
    await queryRows(trx, raw("set local citus.multi_shard_modify_mode = 'sequential'"));
    await (shards > 0 ? distribute(trx, shards) : gather(trx));
  });
  await queryRows(db, raw('analyze products'));
  await queryRows(db, raw('analyze product_words'));
  log.info({ shards }, shards > 0 ? 'products distributed' : 'products are local');
}

/** Returns the number of shards of `products`; 0 if it is a local table. */
async function countShards(db: Database): Promise<number> {
  const [local] = await queryRows(db, sql`select where to_regclass(${localProducts}) is not null`);
  if (!local) return 0;
  const [counted] = await queryRows<{ shards: number }>(
    db,
    sql`select count(*) as shards from pg_dist_shard where logicalrelid = cast('products' as regclass)`,
  );
  return counted!.shards;
}

async function distribute(trx: Knex.Transaction, shards: number): Promise<void> {
  const table = await readDefinition(trx);
  await requirePlainTable(trx, table);
  const { indexes } = table;
  const grants = await readGrants(trx);
  await queryRows(trx, setOwner(table));
  await executeAll(trx, [
    `alter table products rename to ${localProducts}`,
    ...indexes.map(({ name }) => `alter index ${name} rename to ${localName(name)}`),
    `create table products (like ${localProducts} including defaults including constraints including storage)`,
    ...grantTables(grants, 'products'),
    ...indexes.flatMap(({ name, is_unique, has_partner, definition, primary_key }) => {
      if (primary_key) return [`alter table products add constraint ${name} ${primary_key}`];
      // Blocks of numbers keep product_id unique, and map it to the partner.
      const unique = is_unique && has_partner ? 'unique ' : '';
      return [`create ${unique}index ${name} on products ${definition}`];
    }),
  ]);
  await queryRows(
    trx,
    sql`select create_distributed_table('products', 'partner_id', colocate_with => 'none', shard_count => ${shards})`,
  );
  await executeAll(trx, [createObjectsSql, ...grantTables(grants, objectTables), ...grantNumbers(grants)]);
  await queryRows(
    trx,
    raw("select create_distributed_table('product_partners', 'partner_id', colocate_with => 'products')"),
  );
  await queryRows(trx, raw(`insert into product_partners select distinct partner_id from ${localProducts}`));
  await queryRows(trx, raw(`insert into products select * from ${localProducts}`));
  await withoutTriggers(trx, () => queryRows(trx, raw(`truncate ${localProducts}`)));
  await queryRows(trx, raw("select create_distributed_function('search_words(text)')"));
  await queryRows(
    trx,
    raw("select create_distributed_table('product_words', 'partner_id', colocate_with => 'products')"),
  );
  await queryRows(trx, raw("select truncate_local_data_after_distributing_table('product_words')"));
}

async function gather(trx: Knex.Transaction): Promise<void> {
  await queryRows(trx, setOwner(await readDefinition(trx)));
  await withoutTriggers(trx, () =>
    queryRows(trx, raw(`insert into ${localProducts} select * from products`)),
  );
  const indexes = await queryRows<{ name: string }>(
    trx,
    sql`select relname as name from pg_index join pg_class on pg_class.oid = indexrelid
     where indrelid = to_regclass(${localProducts})`,
  );
  await executeAll(trx, [
    `select setval(cast(pg_get_serial_sequence('${localProducts}', 'product_id') as regclass), max(next_id) - 1)
       from product_blocks having max(next_id) > 1`,
    'drop table products',
    `alter table ${localProducts} rename to products`,
    ...indexes.map(({ name }) => `alter index ${name} rename to ${name.slice(0, -localSuffix.length)}`),
    dropObjectsSql,
  ]);
  await queryRows(trx, raw("select undistribute_table('product_words')"));
}

const localSuffix = '_local';

/** Returns the name of an index of the local table. PostgreSQL truncates names after 63 bytes. */
const localName = (name: string) => `${name}${localSuffix}`;

/** Executes statements in one round trip. */
const executeAll = (trx: Knex.Transaction, statements: readonly string[]) =>
  queryRows(trx, raw(statements.join(';\n')));

/** Moves products to or from the local table without triggers: no product changes. */
async function withoutTriggers(trx: Knex.Transaction, work: () => PromiseLike<unknown>): Promise<void> {
  await queryRows(trx, raw(`alter table ${localProducts} disable trigger user`));
  await work();
  await queryRows(trx, raw(`alter table ${localProducts} enable trigger user`));
}

interface Grant {
  privilege: string;
  grantee: string;
  /** Empty, or ` with grant option`. */
  option: string;
}

/** Reads the privileges on all columns of `products`, except the owner's. */
async function readGrants(trx: Knex.Transaction): Promise<Grant[]> {
  return queryRows<Grant>(
    trx,
    sql`
    select privilege_type as privilege,
      case grantee when 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end as grantee,
      case when is_grantable then ' with grant option' else '' end as option
    from pg_class, aclexplode(relacl)
    where oid = cast('products' as regclass) and grantee <> relowner`,
  );
}

const grantTables = (grants: readonly Grant[], tables: string) =>
  grants.map(({ privilege, grantee, option }) => `grant ${privilege} on ${tables} to ${grantee}${option}`);

/** Lets accounts that insert products draw numbers for them. */
const grantNumbers = (grants: readonly Grant[]) =>
  grants
    .filter(({ privilege }) => privilege === 'INSERT')
    .map(({ grantee, option }) => `grant usage on sequence ${numbersSequence} to ${grantee}${option}`);

async function requireCitus(trx: Knex.Transaction): Promise<void> {
  const [extension] = await queryRows(trx, sql`select from pg_extension where extname = 'citus'`);
  if (extension) return;
  throw new ConfigError(
    'The database has no extension citus: DATABASE_URL must name a database on a coordinator of Citus (create extension citus).',
  );
}

async function requirePlainTable(
  trx: Knex.Transaction,
  { is_partitioned, owner }: TableDefinition,
): Promise<void> {
  if (is_partitioned) {
    throw new ConfigError(
      'The products have partitions: copy them into a new database first, see docs/how-to/upgrade.md.',
    );
  }
  const [{ is_member, account }] = (await queryRows(
    trx,
    sql`select pg_has_role(${owner}, 'member') as is_member, current_user as account`,
  )) as [{ is_member: boolean; account: string }];
  if (!is_member) {
    throw new ConfigError(
      `The account ${account} does not own the table products: use ${owner}, which does, in DATABASE_URL.`,
    );
  }
  const dependents = await listDependents(trx);
  if (dependents.length === 0) return;
  throw new ConfigError(
    `Other objects depend on the table products: ${dependents.join(', ')}. Drop them first, and create them again afterwards.`,
  );
}

/** Requires that no service runs: it would not notice the change. An ordinary account sees no `backend_type` of other accounts. */
async function requireNoSessions(trx: Knex.Transaction): Promise<void> {
  const rows = await queryRows<{ session: string }>(
    trx,
    sql`
    select distinct format('%s (%s)', application_name, usename) as session from pg_stat_activity
    where datname = current_database() and usename is not null and coalesce(backend_type, 'client backend') = 'client backend'
      and application_name not in (current_setting('application_name'), 'psql')
      and application_name not ilike 'citus%' order by session`,
  );
  if (rows.length === 0) return;
  throw new ConfigError(
    `Sessions still use the database: ${rows.map(({ session }) => session).join(', ')}. Stop the service first.`,
  );
}
