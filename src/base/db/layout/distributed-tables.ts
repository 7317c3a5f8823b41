/** Parts from which the distributed table and its working copies are made. */
export interface DistributedTables {
  /** The distributed table with its schema: a working copy hides the name alone. */
  table: string;
  /** The empty local table that is the model of a working copy. */
  localTable: string;
  columns: readonly string[];
  /** Statements that create the triggers of a working copy. */
  triggers: readonly string[];
}

/** The table `products` before its distribution, empty since, with its triggers: the model of a working copy. */
export const localProducts = 'products_local';

/** Selects the `DistributedTables`, the triggers for `pg_temp.products`; no row if `products` is a plain table. */
export const tablesSql = `
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
