import { createHash } from 'node:crypto';
import type { Knex } from 'knex';
import { schemaFunctions } from '../src/base/db/functions';

/** Names of functions of `src/base/db/functions`, each with the digest of its statements when the migration was written. */
export type FunctionDigests = Readonly<Record<string, string>>;

/** Returns the digest of the statements that create a function. */
export const digestFunction = (statements: string) =>
  createHash('sha256').update(statements).digest('hex').slice(0, 16);

/**
 * Creates functions as they stand in `src/base/db/functions`, in the transaction of the migration. Running processes are not disturbed: it
 * locks no table, and calls in progress end with the function that they began with.
 *
 * A function that was changed after this migration keeps its form here, because the new one may need what later migrations add; the
 * last migration that names it replaces it. Where there is none yet, it is created in the new form. The `down` of a migration that
 * changes a function contains the statements of before.
 */
export async function createFunctions(db: Knex, digests: FunctionDigests): Promise<void> {
  // A body may name what a later migration creates.
  await db.raw('set local check_function_bodies = off');
  const present = await db<{ proname: string }>('pg_proc')
    .whereRaw('pronamespace = cast(current_schema() as regnamespace)')
    .pluck('proname');
  for (const [name, digest] of Object.entries(digests)) {
    const statements = schemaFunctions[name];
    // Undefined: a later migration drops it.
    if (statements === undefined) continue;
    if (digestFunction(statements) !== digest && present.includes(name)) continue;
    await db.raw(statements);
  }
}
