import type { Knex } from 'knex';
import type { ClientBase } from 'pg';
import { from as copyFrom, type CopyStreamQuery } from 'pg-copy-streams';
import { limits } from '../config';
import { productColumns, type ProductColumn } from './columns';
import { rowIssue, type RowIssue } from './row-issues';
import type { ProductValues } from './transform';

/**
 * The staged rows of one run, and its issues, both gone with the transaction. `line` tells rows apart: two records never
 * start on the same line.
 */
const createStagingSql = `
  create temporary table feed_rows (
    line bigint not null,
    sku text collate "C" not null,
    product_name text collate "C" not null,
    description text,
    brand text collate "C",
    category text collate "C",
    price numeric(16, 4),
    currency text collate "C",
    availability text collate "C"
  ) on commit drop;
  create temporary table feed_issues (
    line bigint not null,
    position integer not null,
    sku text,
    field text,
    code text not null,
    message text not null,
    value text
  ) on commit drop;
`;

/**
 * A backend whose client was killed must give up the claim on the job soon, also amid a long statement; not every system
 * can look for that.
 */
const prepareTransactionSql = `
  set local work_mem = '${limits.etlWorkMemMegabytes}MB';
  do $$
  begin
    perform set_config('client_connection_check_interval', '${limits.clientCheckMilliseconds}', true);
  exception when invalid_parameter_value then
    null;
  end $$;
`;

/** Prepares the staging tables in the run's transaction, and gives its joins and sorts room. */
export async function createStaging(trx: Knex.Transaction): Promise<void> {
  await trx.raw(prepareTransactionSql);
  await trx.raw(createStagingSql);
}

/** A stream that takes the text of `stagedRow` and copies it into the staging table. */
export async function stageRows(trx: Knex.Transaction): Promise<CopyStreamQuery> {
  // Within a transaction this is its own connection.
  const knexClient = trx.client as { acquireConnection(): Promise<ClientBase> };
  const client = await knexClient.acquireConnection();
  return client.query(copyFrom(`copy feed_rows (line, ${productColumns.join(', ')}) from stdin`));
}

/** One row in the text form of COPY. */
export function stagedRow(line: number, values: ProductValues): string {
  let text = String(line);
  for (const column of productColumns) text += `\t${copyText(values[column])}`;
  return `${text}\n`;
}

const copySpecial = /[\\\t\n\r]/;
const copyEscapes: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

function copyText(value: string | null): string {
  if (value === null) return '\\N';
  return copySpecial.test(value) ? value.replace(/[\\\t\n\r]/g, (special) => copyEscapes[special]!) : value;
}

/**
 * Removes the staged rows that a later row of the same sku replaces, and files an issue for each.
 * The aggregate is the whole cost of a feed without repeated skus.
 */
const foldRepeatedSkusSql = `
  with repeated as (
    select sku, max(line) as last_line from feed_rows group by sku having count(*) > 1
  ), superseded as (
    delete from feed_rows using repeated
    where feed_rows.sku = repeated.sku and feed_rows.line < repeated.last_line
    returning feed_rows.line, feed_rows.sku
  )
  insert into feed_issues (line, position, sku, field, code, message, value)
  select line, 0, sku, :field, :code, :message, sku from superseded
`;

/** Lets the last row of each sku win. @returns how many rows were removed */
export async function foldRepeatedSkus(trx: Knex.Transaction): Promise<number> {
  const { field, code, message } = rowIssue({ line: 0, sku: null }, 'duplicate_sku', 'sku', null);
  const { rowCount } = await trx.raw<{ rowCount: number }>(foldRepeatedSkusSql, { field, code, message });
  return rowCount;
}

/** Counts of a merge, in products. */
export interface MergeCounts {
  inserted: number;
  updated: number;
  unchanged: number;
}

/**
 * The merge of the staged rows, whose skus must be unique by then, into the partner's products, in four statements:
 *
 * 1. `lock` lets one run at a time touch the partner's products. Nobody else inserts or updates them, so an anti-join is
 *    enough to find what is new, and no product id is drawn for a row that exists.
 * 2. `compare` reads the partner's products once and notes which staged rows are new (no product id) or differ. Only
 *    narrow rows are written: an unchanged feed costs this one join.
 * 3. `update` and 4. `insert` touch just those; new products get their ids in the order of the file.
 *
 * A column that the feed does not have keeps the stored value, in the comparison as in the update; a currency that came
 * with the price counts all the same.
 */
function mergeSql(columns: ReadonlySet<ProductColumn>) {
  const fields = productColumns.filter((column) => column !== 'sku');
  const incoming = (field: ProductColumn) => {
    if (columns.has(field)) return `feed_rows.${field}`;
    return field === 'currency' ? 'coalesce(feed_rows.currency, products.currency)' : `products.${field}`;
  };
  const list = (map: (field: ProductColumn) => string) => fields.map(map).join(', ');
  return {
    lock: 'select from partners where partner_id = :partnerId for no key update',
    compare: `
      create temporary table feed_changes on commit drop as
      select feed_rows.line, products.product_id
      from feed_rows
      left join products on products.partner_id = :partnerId and products.sku = feed_rows.sku
      where products.product_id is null
        or (${list((field) => `products.${field}`)}) is distinct from (${list(incoming)})
    `,
    count: `
      select (select count(*) from feed_rows) as staged, count(*) as changed, count(product_id) as updated
      from feed_changes
    `,
    update: `
      update products
      set feed_id = :feedId, ${list((field) => `${field} = ${incoming(field)}`)}
      from feed_changes join feed_rows using (line)
      where products.product_id = feed_changes.product_id
    `,
    insert: `
      insert into products (feed_id, partner_id, sku, ${fields.join(', ')})
      select :feedId, :partnerId, sku, ${fields.join(', ')}
      from feed_rows
      where line in (select line from feed_changes where product_id is null)
      order by line
    `,
  };
}

/**
 * Merges the staged rows into the partner's products.
 * @param columns - the columns that the feed has
 */
export async function mergeProducts(
  trx: Knex.Transaction,
  { feedId, partnerId }: { feedId: number; partnerId: number },
  columns: ReadonlySet<ProductColumn>,
): Promise<MergeCounts> {
  const sql = mergeSql(columns);
  await trx.raw(sql.lock, { partnerId });
  await trx.raw('analyze feed_rows (sku)');
  // A utility statement takes no parameters; the number comes from our own table.
  await trx.raw(sql.compare.replaceAll(':partnerId', String(partnerId)));
  await trx.raw('analyze feed_changes');
  const { rows } = await trx.raw<{ rows: { staged: number; changed: number; updated: number }[] }>(sql.count);
  const { staged, changed, updated } = rows[0]!;
  const inserted = changed - updated;
  if (updated > 0) await trx.raw(sql.update, { feedId });
  if (inserted > 0) await trx.raw(sql.insert, { feedId, partnerId });
  return { inserted, updated, unchanged: staged - changed };
}

const insertIssuesSql = `
  insert into feed_issues (line, position, sku, field, code, message, value)
  select * from unnest(
    cast(:lines as bigint[]), cast(:positions as integer[]), cast(:skus as text[]), cast(:fields as text[]),
    cast(:codes as text[]), cast(:messages as text[]), cast(:values as text[])
  )
`;

const keepIssuesSql = `
  insert into row_issues (job_id, issue_number, line, sku, field, code, message, value)
  select :jobId, row_number() over (order by line, position), line, sku, field, code, message, value
  from feed_issues
  order by line, position
  limit :issuesKept
`;

/** Replaces the issues that are kept of the job's last run by those of this one, in the order of the file. */
export async function replaceRowIssues(
  trx: Knex.Transaction,
  jobId: number,
  issues: RowIssue[],
): Promise<void> {
  await trx('row_issues').where('job_id', jobId).delete();
  await trx.raw(insertIssuesSql, {
    lines: issues.map((issue) => issue.line),
    positions: issues.map((_, position) => position),
    skus: issues.map((issue) => issue.sku),
    fields: issues.map((issue) => issue.field),
    codes: issues.map((issue) => issue.code),
    messages: issues.map((issue) => issue.message),
    values: issues.map((issue) => issue.value),
  } as unknown as Record<string, Knex.Value>);
  await trx.raw(keepIssuesSql, { jobId, issuesKept: limits.issuesKept });
}
