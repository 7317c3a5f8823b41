import type { TestService } from './service';

/** A statement in PL/pgSQL that cuts the connection that executes it. */
export const cutConnection = 'perform pg_terminate_backend(pg_backend_pid());';

/**
 * Makes the database execute a statement for each row that is written to `table`, while `work` is done.
 * @param statement - in PL/pgSQL, for example `raise exception 'no';`
 * @param when - `deferred`: at the commit
 */
export async function whileWritesDo<T>(
  { db }: TestService,
  table: 'partners' | 'products' | 'validation_jobs' | 'orders' | 'idempotency_keys',
  statement: string,
  work: () => Promise<T>,
  when: 'immediate' | 'deferred' = 'immediate',
): Promise<T> {
  await db.raw(`
    create function on_write() returns trigger language plpgsql as $$ begin ${statement} return new; end $$;
    create constraint trigger on_write after insert or update on ${table}
      deferrable initially ${when} for each row execute function on_write();
  `);
  try {
    return await work();
  } finally {
    await db.raw(`drop trigger on_write on ${table}; drop function on_write();`);
  }
}
