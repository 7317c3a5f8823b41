import type { Knex } from 'knex';

/** Mark of an index that is unique in an unpartitioned table only: in a partitioned one, its key would need the partner. */
const uniqueAlone = 'unique without partitions';

interface Index {
  name: string;
  is_unique: boolean;
  has_partner: boolean;
  /** The definition after the name of the table. */
  definition: string;
  /** The definition of the constraint that the index belongs to. */
  primary_key: string | null;
}

/** What a table of products needs to be like `products`. */
export interface TableDefinition {
  owner: string;
  /** 0 for an unpartitioned table. */
  partitions: number;
  /** Whether the partitions are by hash of the partner. */
  is_by_partner: boolean;
  columns: string[];
  constraints: string[];
  /** Storage parameters, such as `fillfactor=90`. */
  options: string | null;
  sequence: string;
  indexes: Index[];
}

/** Reads the definition of `products`. */
export async function readDefinition(db: Knex): Promise<TableDefinition> {
  const { rows } = await db.raw<{ rows: [TableDefinition] }>(
    `
    with partitions as (select inhrelid from pg_inherits where inhparent = 'products'::regclass)
    select cast(cast(relowner as regrole) as text) as owner,
      cast((select count(*) from partitions) as integer) as partitions,
      coalesce(pg_get_partkeydef(products.oid) = 'HASH (partner_id)', false) as is_by_partner,
      (
        select json_agg(concat_ws(' ', attname, format_type(atttypid, atttypmod), attnotnull, cast(attcollation as regcollation),
          attidentity, attstorage, pg_get_expr(adbin, adrelid)) order by attnum)
        from pg_attribute left join pg_attrdef on (adrelid, adnum) = (attrelid, attnum)
        where attrelid = products.oid and attnum > 0 and not attisdropped
      ) as columns,
      (
        select json_agg(concat_ws(' ', conname, pg_get_constraintdef(oid)) order by conname)
        from pg_constraint where conrelid = products.oid
      ) as constraints,
      (
        select array_to_string(reloptions, ', ') from pg_class
        where oid = coalesce((select inhrelid from partitions limit 1), products.oid)
      ) as options,
      pg_get_serial_sequence('products', 'product_id') as sequence,
      (
        select json_agg(json_build_object(
          'name', index.relname,
          'is_unique', indisunique or coalesce(obj_description(index.oid, 'pg_class') = :uniqueAlone, false),
          'has_partner', (
            select attnum from pg_attribute where attrelid = indrelid and attname = 'partner_id'
          ) = any ((cast(indkey as int2[]))[0:indnkeyatts - 1]),
          'definition', substring(pg_get_indexdef(index.oid) from ' USING .*'),
          'primary_key', (
            select pg_get_constraintdef(oid) from pg_constraint
            where conrelid = products.oid and conindid = index.oid and contype = 'p'
          )
        ) order by indisprimary desc, index.relname)
        from pg_index join pg_class as index on index.oid = indexrelid
        where indrelid = products.oid and indisvalid
      ) as indexes
    from pg_class as products where oid = 'products'::regclass
  `,
    { uniqueAlone },
  );
  return rows[0];
}

export const setOwner = ({ owner }: TableDefinition) => `set local role ${owner}`;

/** Lists objects that would stay with the replaced table: views, foreign keys to it, policies, publications, functions. */
export async function listDependents(db: Knex): Promise<string[]> {
  const { rows } = await db.raw<{ rows: { dependent: string }[] }>(`
    select distinct pg_describe_object(classid, objid, 0) as dependent
    from pg_depend join pg_class as products on products.oid = 'products'::regclass
    where (
      refclassid = 'pg_class'::regclass and refobjid = products.oid
      and (deptype = 'n' or classid in ('pg_policy'::regclass, 'pg_publication_rel'::regclass))
      and classid <> 'pg_trigger'::regclass
      and not exists (select from pg_constraint where classid = 'pg_constraint'::regclass and oid = objid and conrelid = products.oid)
    ) or (refclassid = 'pg_type'::regclass and refobjid = products.reltype and deptype = 'n')
    order by dependent
  `);
  return rows.map(({ dependent }) => dependent);
}

/** Returns the name of an index until its table is `products`. PostgreSQL truncates names after 63 bytes. */
export const nameInCopy = (name: string) => `${name.slice(0, 57)}_copy`;
export const nameWhenReplaced = (name: string) => `${name.slice(0, 57)}_old`;

/** Returns statements that create the empty `products_copy` with its primary key. */
export function createCopySql(table: TableDefinition, partitions: number): string {
  const options = table.options ? `with (${table.options})` : '';
  const primaryKey = table.indexes.filter(({ primary_key }) => primary_key);
  const names = Array.from({ length: partitions }, (_, remainder) => ({
    name: `products_${remainder + 1}_of_${partitions}`,
    bounds: `with (modulus ${partitions}, remainder ${remainder})`,
  }));
  return [
    `create table products_copy (like products including all excluding indexes)
      ${partitions > 0 ? 'partition by hash (partner_id)' : options}`,
    ...names.map(
      ({ name, bounds }) => `create table ${name} partition of products_copy for values ${bounds} ${options}`,
    ),
    ...primaryKey.map((index) => createIndexSql(index, partitions)),
  ].join(';\n');
}

/** Returns a statement that creates an index of `products_copy`. */
export function createIndexSql(
  { name, is_unique, has_partner, definition, primary_key }: Index,
  partitions: number,
): string {
  const copyName = nameInCopy(name);
  if (primary_key) return `alter table products_copy add constraint ${copyName} ${primary_key}`;
  const isUnique = is_unique && (partitions === 0 || has_partner);
  const sql = `create ${isUnique ? 'unique ' : ''}index if not exists ${copyName} on products_copy ${definition}`;
  return is_unique && !isUnique ? `${sql};\ncomment on index ${copyName} is '${uniqueAlone}'` : sql;
}
