import type { Knex } from 'knex';
import { migrations } from '../../../migrations';
import { digestFunction } from '../../../migrations/create-functions';
import { schemaFunctions } from '../../../src/base/db/functions';
import { createEmptyDatabase } from '../../support/databases';
import { openDatabase } from '../../../src/base/db/database';
import { migrateToLatest } from '../../../src/operation/database/migrate';
import { afterFile } from '../../support/harness';

/** The definitions of the functions of a schema, by name. */
async function definitions(db: Knex): Promise<Record<string, string>> {
  const { rows } = await db.raw<{ rows: { proname: string; definition: string }[] }>(`
    select proname, pg_get_functiondef(oid) as definition from pg_proc
    where pronamespace = cast('public' as regnamespace) order by proname`);
  return Object.fromEntries(rows.map(({ proname, definition }) => [proname, definition]));
}

describe('src/base/db/functions', () => {
  it('contains the functions of a migrated schema, text for text', async () => {
    // Not the template: on Citus, it contains the functions of distributed products.
    const db = openDatabase(await createEmptyDatabase(), { applicationName: 'test', connectionsMax: 2 });
    afterFile(() => db.destroy());
    await migrateToLatest(db);
    const migrated = await definitions(db);

    await db.transaction(async (trx) => {
      for (const statements of Object.values(schemaFunctions)) await trx.raw(statements);
    });

    expect(Object.keys(migrated)).toEqual(Object.keys(schemaFunctions).sort());
    expect(migrated).toEqual(await definitions(db));
  });

  it('is changed together with a migration that creates the changed functions', () => {
    const created = Object.assign(
      {},
      ...Object.values(migrations).map(({ functions }) => functions),
    ) as Record<string, string>;

    const forgotten = Object.entries(schemaFunctions)
      .map(([name, statements]) => ({ name, digest: digestFunction(statements) }))
      .filter(({ name, digest }) => created[name] !== digest)
      .map(
        ({ name, digest }) =>
          `${name} has changed: add a migration with createFunctions(db, functions) and functions = { ${name}: '${digest}' }, ` +
          'whose down has the statements of before. One that is not released yet gets the new digest.',
      );

    expect(forgotten).toEqual([]);
  });
});
