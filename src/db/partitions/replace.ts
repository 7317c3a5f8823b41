import type { Knex } from 'knex';
import { nameInCopy, nameWhenReplaced, type TableDefinition } from '../distribution/definition';

/** Function of the triggers that log changes for the copy. */
export const logFunction = 'log_product_change_for_copy';

/**
 * Replaces `products` by `products_copy`, with its name, numbers, triggers and privileges. The old table is `products_replaced`.
 *
 * The transaction holds both tables exclusively, and they have the same rows.
 */
export async function replaceProducts(trx: Knex.Transaction, table: TableDefinition): Promise<void> {
  const { rows } = await trx.raw<{ rows: [{ present: string; copied: string; name: string }] }>(
    `select quote_ident(nspname) || '.' || quote_ident(relname) as present, quote_ident(relname) as name,
       pg_get_serial_sequence('products_copy', 'product_id') as copied
     from pg_class join pg_namespace on pg_namespace.oid = relnamespace where pg_class.oid = cast(? as regclass)`,
    [table.sequence],
  );
  const sequence = rows[0];
  const statements = [
    `select setval('${sequence.copied}', last_value, is_called) from ${sequence.present}`,
    ...(await listPrivilegeStatements(trx, sequence)),
    'alter table products rename to products_replaced',
    'alter table products_copy rename to products',
    ...table.indexes.flatMap(({ name }) => [
      `alter index ${name} rename to ${nameWhenReplaced(name)}`,
      `alter index ${nameInCopy(name)} rename to ${name}`,
    ]),
    `alter sequence ${sequence.present} rename to ${nameWhenReplaced(sequence.name)}`,
    `alter sequence ${sequence.copied} rename to ${sequence.name}`,
    ...(await listTriggerStatements(trx)),
    `drop function ${logFunction}() cascade`,
    'drop table products_copy_changes, products_copy_state',
  ];
  await trx.raw(statements.join(';\n'));
}

/** Lists statements that give the copy and its sequence the privileges of the present ones, those on columns too. */
async function listPrivilegeStatements(
  trx: Knex.Transaction,
  sequence: { present: string; copied: string },
): Promise<string[]> {
  const { rows } = await trx.raw<{ rows: { statement: string }[] }>(
    `
    with pairs (present, copied, kind) as (
      values (cast('products' as regclass), cast('products_copy' as regclass), 'table'),
        (cast(:present as regclass), cast(:copied as regclass), 'sequence')
    ), granted (kind, relation, target, columns, privileges) as (
      select kind, oid, copied, '', relacl from pairs join pg_class on oid in (present, copied)
      union all
      select kind, attrelid, copied, format(' (%I)', attname), attacl from pairs join pg_attribute on attrelid = present
      where kind = 'table'
    ), statements as (
      select relation <> target as is_grant, kind, target, columns, privilege_type, is_grantable,
        case grantee when 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end as grantee
      from granted, aclexplode(privileges)
      where grantee <> (select relowner from pg_class where oid = relation)
    )
    select case when is_grant
      then format('grant %s%s on %s %s to %s%s', privilege_type, columns, kind, target, grantee,
        case when is_grantable then ' with grant option' end)
      else format('revoke %s on %s %s from %s', privilege_type, kind, target, grantee)
    end as statement
    from statements order by is_grant
  `,
    sequence,
  );
  return rows.map(({ statement }) => statement);
}

/** Lists statements that create the triggers of `products`, enabled or disabled as they are. */
async function listTriggerStatements(trx: Knex.Transaction): Promise<string[]> {
  const { rows } = await trx.raw<{ rows: { definition: string; state: string | null }[] }>(
    `
    select pg_get_triggerdef(oid) as definition,
      case tgenabled when 'D' then 'disable' when 'R' then 'enable replica' when 'A' then 'enable always' end
        || format(' trigger %I', tgname) as state
    from pg_trigger
    where tgrelid = cast('products' as regclass) and not tgisinternal and tgfoid <> cast(:logFunction as regproc)
    order by tgname
  `,
    { logFunction },
  );
  return rows.flatMap(({ definition, state }) =>
    state === null ? [definition] : [definition, `alter table products ${state}`],
  );
}
