import type { Knex } from 'knex';
import type { Database } from '../../src/base/db/database';

/**
 * Executes work in a transaction in which PostgreSQL has only nested loops, which it chooses for tables that it believes are small.
 * @returns the largest number of rows that a statement of the work deletes from the table
 */
export function largestBatch(
  db: Database,
  table: string,
  work: (trx: Knex.Transaction) => Promise<unknown>,
): Promise<number> {
  return db.transaction(async (trx) => {
    await trx.raw(
      `create temporary table batch_sizes (size integer) on commit drop;
       create or replace function pg_temp.note_batch() returns trigger language plpgsql as $$
       begin insert into batch_sizes select count(*) from gone; return null; end $$;
       create trigger note_batch after delete on ${table} referencing old table as gone
         for each statement execute function pg_temp.note_batch()`,
    );
    for (const method of ['hashjoin', 'mergejoin', 'hashagg', 'sort', 'material'])
      await trx.raw(`set local enable_${method} = off`);
    await work(trx);
    await trx.raw(`drop trigger note_batch on ${table}`);
    const { max } = (await trx('batch_sizes').max('size').first()) as { max: number };
    return max;
  });
}
