import type { Knex } from 'knex';

/** The index is built concurrently. */
export const config = { transaction: false };

/** Finds completed loads by the time of their end, for figures of a period. Can be repeated after a failure. */
export async function up(db: Knex): Promise<void> {
  // An interrupted build leaves an invalid index.
  const { rows } = await db.raw<{ rows: unknown[] }>(
    "select from pg_index where indexrelid = to_regclass('runs_completed_loads') and not indisvalid",
  );
  if (rows.length > 0) await db.raw('drop index concurrently runs_completed_loads');
  await db.raw(`
    create index concurrently if not exists runs_completed_loads on runs (finished_at)
    where kind = 'load' and status = 'completed'`);
}

/** Drops what `up` created. */
export async function down(db: Knex): Promise<void> {
  await db.raw('drop index runs_completed_loads');
}
