import { queryRows, type Database } from '../../../base/db/database';
import { raw, sql } from '../../../base/db/sql';

interface Index {
  name: string;
  is_unique: boolean;
  has_partner: boolean;
  /** The definition after the name of the table. */
  definition: string;
  /** The definition of the constraint that the index belongs to. */
  primary_key: string | null;
}

/** Parts that a table of products needs to be like `products`. */
export interface TableDefinition {
  owner: string;
  is_partitioned: boolean;
  indexes: Index[];
}

/** Reads the definition of `products`. */
export async function readDefinition(db: Database): Promise<TableDefinition> {
  const [definition] = await queryRows<TableDefinition>(
    db,
    sql`
    select cast(cast(relowner as regrole) as text) as owner, relkind = 'p' as is_partitioned,
      (
        select json_agg(json_build_object(
          'name', index.relname,
          'is_unique', indisunique,
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
  );
  return definition!;
}

export const setOwner = ({ owner }: TableDefinition) => raw(`set local role ${owner}`);

/** Lists objects that would stay with the replaced table: views, foreign keys to it, policies, publications, functions. */
export async function listDependents(db: Database): Promise<string[]> {
  const rows = await queryRows<{ dependent: string }>(
    db,
    sql`
    select distinct pg_describe_object(classid, objid, 0) as dependent
    from pg_depend join pg_class as products on products.oid = 'products'::regclass
    where (
      refclassid = 'pg_class'::regclass and refobjid = products.oid
      and (deptype = 'n' or classid in ('pg_policy'::regclass, 'pg_publication_rel'::regclass))
      and classid <> 'pg_trigger'::regclass
      and not exists (select from pg_constraint where classid = 'pg_constraint'::regclass and oid = objid and conrelid = products.oid)
    ) or (refclassid = 'pg_type'::regclass and refobjid = products.reltype and deptype = 'n')
    order by dependent
  `,
  );
  return rows.map(({ dependent }) => dependent);
}
