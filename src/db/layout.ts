import type { Knex } from 'knex';
import { connectionOf, type Database } from './database';

/** How `products` is stored. It never changes while a service runs: services are stopped for `migrate --distribute`. */
export interface ProductLayout {
  /** Whether Citus distributes the products by partner. Statements then name the partner by number. */
  isDistributed: boolean;
  /** The table: with its schema where it is distributed, because a working copy hides the name alone. */
  table: string;
  /** The empty local table that a working copy is made like; null if `products` is not distributed. */
  localTable: string | null;
  /** Columns of the table. */
  columns: readonly string[];
  /** Statements that create the triggers of a working copy. */
  triggers: readonly string[];
}

/** The table `products` before its distribution, empty since, with its triggers: a working copy is like it. */
export const localProducts = 'products_local';

/** The distributed table, what a working copy is like, and the triggers of that, for `pg_temp.products`. */
const layoutSql = `
  select quote_ident(nspname) || '.products' as table, quote_ident(nspname) || '.' || quote_ident(relname) as "localTable",
    (
      select json_agg(quote_ident(attname) order by attnum) from pg_attribute
      where attrelid = pg_class.oid and attnum > 0 and not attisdropped
    ) as columns,
    (
      select coalesce(json_agg(replace(
        pg_get_triggerdef(pg_trigger.oid),
        format(' ON %I.%I ', nspname, relname),
        ' ON pg_temp.products '
      ) order by tgname), '[]')
      from pg_trigger
      where tgrelid = pg_class.oid and not tgisinternal and tgenabled <> 'D' and (tgtype & 32) = 0
    ) as triggers
  from pg_class join pg_namespace on pg_namespace.oid = relnamespace
  where pg_class.oid = to_regclass('${localProducts}')`;

const plain: ProductLayout = {
  isDistributed: false,
  table: 'products',
  localTable: null,
  columns: [],
  triggers: [],
};

/** By the settings of a pool, which its transactions share. */
const layouts = new WeakMap<object, Promise<ProductLayout>>();

/** Reads how `products` is stored, once for each pool. @param db - a pool, or a transaction */
export function productLayout(db: Database): Promise<ProductLayout> {
  const { config } = db.client as Knex.Client;
  const known = layouts.get(config);
  if (known) return known;
  const layout = readLayout(db);
  layouts.set(config, layout);
  layout.catch(() => layouts.delete(config));
  return layout;
}

/** Reads on the connection itself: the statements of requests are counted. */
async function readLayout(db: Database): Promise<ProductLayout> {
  const connection = await connectionOf(db);
  try {
    const { rows } = await connection.query<Omit<ProductLayout, 'isDistributed'>>(layoutSql);
    return rows[0] ? { isDistributed: true, ...rows[0] } : plain;
  } finally {
    await (db.client as Knex.Client).releaseConnection(connection);
  }
}

/** Tells whether Citus distributes `products`. @param db - a pool, or a transaction */
export async function isDistributed(db: Database): Promise<boolean> {
  return (await productLayout(db)).isDistributed;
}
