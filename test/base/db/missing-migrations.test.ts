import { migrations } from '../../../migrations';
import { openDatabase, type Database } from '../../../src/base/db/database';
import {
  migrateToLatest,
  missingMigrations,
  waitForMigrations,
} from '../../../src/operation/database/migrate';
import { afterFile } from '../../support/harness';
import { createEmptyDatabase } from '../../support/databases';

async function openEmpty(encoding?: string): Promise<Database> {
  const db = openDatabase(await createEmptyDatabase(encoding), {
    applicationName: 'test',
    connectionsMax: 3,
  });
  afterFile(() => db.destroy());
  return db;
}

const ours = Object.keys(migrations);

describe('missingMigrations', () => {
  it('lists all for an empty database, and changes nothing', async () => {
    const db = await openEmpty();

    expect(await missingMigrations(db)).toEqual(ours);

    expect(await db('pg_tables').where('schemaname', 'public').pluck('tablename')).toEqual([]);
  });

  it('lists none after a migration, and ignores migrations of a newer version', async () => {
    const db = await openEmpty();
    await migrateToLatest(db);

    expect(await missingMigrations(db)).toEqual([]);

    await db('schema_migrations').insert({
      name: '29990101000000_newer',
      batch: 2,
      migration_time: db.fn.now(),
    });
    expect(await missingMigrations(db)).toEqual([]);
  });

  it('lists the migrations that an older version did not have', async () => {
    const db = await openEmpty();
    await migrateToLatest(db);
    await db('schema_migrations').where('name', ours.at(-1)!).delete();

    expect(await missingMigrations(db)).toEqual([ours.at(-1)]);
  });

  it('rejects a database that is not UTF-8', async () => {
    await expect(missingMigrations(await openEmpty('LATIN1'))).rejects.toThrow('must have the encoding UTF8');
  });
});

describe('waitForMigrations', () => {
  it('returns at once without missing migrations, and does not call onWait', async () => {
    const db = await openEmpty();
    await migrateToLatest(db);
    const onWait = jest.fn();

    await waitForMigrations(db, onWait);

    expect(onWait).not.toHaveBeenCalled();
  });

  it('calls onWait once, and returns after the migration by another process', async () => {
    const db = await openEmpty();
    const onWait = jest.fn();
    const waiting = waitForMigrations(db, onWait);
    const ended = jest.fn();
    void waiting.then(ended);

    await missingMigrations(db);
    expect(ended).not.toHaveBeenCalled();
    await migrateToLatest(db);
    await waiting;

    expect(onWait.mock.calls).toEqual([[ours]]);
  });

  it('stops waiting when the signal is aborted, with its reason', async () => {
    const db = await openEmpty();
    const stopping = new AbortController();
    const waiting = waitForMigrations(db, () => stopping.abort(), stopping.signal);

    await expect(waiting).rejects.toThrow('aborted');
  });
});
