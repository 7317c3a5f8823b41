import { randomUUID } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { openDatabase, type Database } from '../../../src/base/db/database';
import { FileStore } from '../../../src/base/storage/file-store';
import { ownerKey } from '../../../src/base/storage/object-key';
import { StorageError, type ListedObject, type ObjectStore } from '../../../src/base/storage/object-store';
import { cleanObjects } from '../../../src/intake/feeds/clean-objects';
import {
  adoptBucket,
  claimBucket,
  findBucketProblem,
  renewIdentity,
} from '../../../src/operation/retention/bucket-owner';
import { isPruneDue } from '../../../src/operation/retention/lease';
import { deleteRemovedObjects, prune, type RetentionContext } from '../../../src/operation/retention/prune';
import { administer, createTestDatabase, type TestDatabase } from '../../support/databases';
import { afterFile, createTestFolder, inChunks } from '../../support/harness';
import { S3Front } from '../../support/s3';

async function openLocalStore(): Promise<FileStore> {
  const store = new FileStore(createTestFolder());
  await store.prepare();
  return store;
}

const stores: [string, () => Promise<ObjectStore>][] = [
  ['a local folder', openLocalStore],
  ['a bucket of S3', async () => (await S3Front.open()).store()],
];

let own: TestDatabase;
beforeAll(async () => {
  own = await createTestDatabase();
});

/** Copies a database as a restored dump is: equal rows, on the server under another name. */
async function copyOf({ db, address }: TestDatabase): Promise<Database> {
  const database = `test_copy_${randomUUID().slice(0, 8)}`;
  await db.destroy();
  await administer(`create database ${database} template ${address.database} strategy file_copy`);
  db.initialize();
  const copy = openDatabase({ ...address, database }, { applicationName: 'test', connectionsMax: 1 });
  afterFile(async () => {
    await copy.destroy();
    await administer(`drop database ${database} with (force)`);
  });
  return copy;
}

const storeFile = (store: ObjectStore, key = 'raw/partners/acme/feeds/FD00001/feed.csv') =>
  store.put(key, inChunks(Buffer.from('sku\nA\n')), 'text/csv');

async function listed(store: ObjectStore): Promise<ListedObject[]> {
  const objects: ListedObject[] = [];
  for await (const each of store.list('raw/')) objects.push(each);
  return objects;
}

describe.each(stores)('the owner of %s', (_kind, open) => {
  let store: ObjectStore;
  beforeEach(async () => {
    store = await open();
  });

  it('is unknown while the bucket has no identity, and the message names the command', async () => {
    expect(await findBucketProblem(own.db, store)).toEqual({
      isForeign: false,
      message:
        `The bucket ${store.bucket} does not say to which database it belongs. If no other database uses it: ` +
        'npm run --silent admin -- objects clean --adopt.',
    });
  });

  it('is the database that adopts it, and then no longer the one before', async () => {
    const { db: other } = await createTestDatabase();
    await adoptBucket(other, store);
    expect(await findBucketProblem(other, store)).toBeUndefined();
    expect(await findBucketProblem(own.db, store)).toEqual({
      isForeign: true,
      message: expect.stringMatching(
        /^The bucket \S+ belongs to another database \("test_\w+", since 20\S+Z\)\. Set the bucket of this database, or, if the other one no longer uses it: npm run --silent admin -- objects clean --adopt\.$/,
      ),
    });

    await adoptBucket(own.db, store);

    expect(await findBucketProblem(own.db, store)).toBeUndefined();
    expect(await findBucketProblem(other, store)).toMatchObject({ isForeign: true });
  });

  it('is identified by a number of its own, its server and its number there, and named without an address', async () => {
    await adoptBucket(own.db, store);

    const { identity, ...shown } = JSON.parse(await text(await store.get(ownerKey))) as { identity: string };
    const database = own.address.database!;
    const { rows } = await own.db.raw<{ rows: { parts: string[] }[] }>(
      `select array[identity::text, system_identifier::text, pg_database.oid::text] as parts
       from database_identity, pg_control_system(), pg_database where datname = ?`,
      [database],
    );
    expect(identity).toBe(rows[0]!.parts.join('.'));
    expect(shown).toEqual({ database, written_at: expect.stringMatching(/^20.*Z$/) });
  });

  it('is not a copy of its database, such as a restored dump', async () => {
    const original = await createTestDatabase();
    await adoptBucket(original.db, store);

    const copy = await copyOf(original);

    expect(await findBucketProblem(copy, store)).toMatchObject({ isForeign: true });
    expect(await findBucketProblem(original.db, store)).toBeUndefined();
  });

  it('is no longer a database that got a new identity', async () => {
    const { db } = await createTestDatabase();
    await adoptBucket(db, store);

    expect(await renewIdentity(db)).toBe(true);

    expect(await findBucketProblem(db, store)).toMatchObject({ isForeign: true });
  });

  it('is the first database that starts with the bucket empty', async () => {
    const { db: second } = await createTestDatabase();

    expect(await claimBucket(own.db, store)).toBeUndefined();

    expect(await findBucketProblem(own.db, store)).toBeUndefined();
    expect(await claimBucket(second, store)).toMatchObject({ isForeign: true });
    expect(await findBucketProblem(own.db, store)).toBeUndefined();
  });

  it.each(['raw/partners/acme/feeds/FD00001/feed.csv', `staging/${randomUUID()}`])(
    'stays unknown when a database starts with a bucket that has files: %s',
    async (key) => {
      await storeFile(store, key);

      expect(await claimBucket(own.db, store)).toMatchObject({ isForeign: false });

      expect(await findBucketProblem(own.db, store)).toMatchObject({ isForeign: false });
    },
  );

  it('stays known after a clean-up', async () => {
    const { db } = await createTestDatabase();
    await db.raw("select setval(pg_get_serial_sequence('feeds', 'feed_id'), 9)");
    await adoptBucket(db, store);
    await storeFile(store);

    const options = { dryRun: false, before: new Date(Date.now() + 60_000), report: () => undefined };
    const result = await cleanObjects(db, store, options);

    expect(result).toMatchObject({ seen: 1, removed: 1 });
    expect(await findBucketProblem(db, store)).toBeUndefined();
  });

  it('cannot be read from a file of another program, which adoption replaces', async () => {
    for (const text of ['no JSON', 'null', '{"identity":1}']) {
      await store.put(ownerKey, inChunks(Buffer.from(text)), 'application/json');

      expect(await findBucketProblem(own.db, store)).toMatchObject({
        isForeign: true,
        message: expect.stringContaining('another database (unknown)'),
      });
    }
    await adoptBucket(own.db, store);
    expect(await findBucketProblem(own.db, store)).toBeUndefined();
  });
});

describe('a bucket of another database', () => {
  const key = 'raw/partners/acme/feeds/FD00001/feed.csv';
  const rules = { rowIssueDays: 90, historyDays: 400 };

  it.each([
    ['a prune', (context: RetentionContext) => prune(context)],
    ['the removal of a partner', (context: RetentionContext) => deleteRemovedObjects(context)],
  ])('keeps the files that %s removes, until this database adopts it', async (_what, remove) => {
    const { db } = await createTestDatabase();
    const context = { db, objectStore: await openLocalStore(), rules };
    const { objectStore } = context;
    const keys = async () => (await listed(objectStore)).map((each) => each.key);
    await adoptBucket(own.db, objectStore);
    await storeFile(objectStore, key);
    await db('removed_objects').insert({ bucket: objectStore.bucket, object_key: key });

    await expect(remove(context)).rejects.toThrow('belongs to another database');

    expect(await keys()).toEqual([key]);
    expect(await db('removed_objects').pluck('object_key')).toEqual([key]);
    await adoptBucket(db, objectStore);
    await remove(context);
    expect(await keys()).toEqual([]);
    expect(await db('removed_objects')).toEqual([]);
  });

  it('ends the prune of the day: everything else was pruned', async () => {
    const { db } = await createTestDatabase();
    const objectStore = await openLocalStore();
    await adoptBucket(own.db, objectStore);
    await db('removed_objects').insert({ bucket: objectStore.bucket, object_key: key });

    await expect(prune({ db, objectStore, rules })).rejects.toThrow('belongs to another database');

    expect(await isPruneDue(db)).toBe(false);
  });

  it('is not one without an identity, which is pruned', async () => {
    const { db } = await createTestDatabase();
    const objectStore = await openLocalStore();
    await storeFile(objectStore, key);
    await db('removed_objects').insert({ bucket: objectStore.bucket, object_key: key });

    await prune({ db, objectStore, rules });

    expect(await listed(objectStore)).toEqual([]);
  });
});

it('a bucket that cannot be read is neither claimed nor taken for one without an identity', async () => {
  const front = await S3Front.open();
  front.onRequest = ({ url }) => (url.includes(ownerKey) ? { status: 403 } : 'pass');

  await expect(claimBucket(own.db, front.store())).rejects.toThrow(StorageError);
  await expect(findBucketProblem(own.db, front.store())).rejects.toThrow(StorageError);
});

it('a schema from before the identity has none to renew', async () => {
  const { db } = await createTestDatabase();
  await db.raw('drop table database_identity');

  expect(await renewIdentity(db)).toBe(false);
});

it('an account that may not read the identifier of the server is told what to grant', async () => {
  const role = `limited_${randomUUID().slice(0, 8)}`;
  await administer(`create role ${role} login`);
  afterFile(() => administer(`drop role ${role}`));
  const { db, address } = await createTestDatabase();
  await db.raw(`
    grant select on database_identity to ${role};
    revoke execute on function pg_control_system() from public;
  `);
  const limited = openDatabase({ ...address, user: role }, { applicationName: 'test', connectionsMax: 1 });
  afterFile(() => limited.destroy());
  const store = await openLocalStore();

  await expect(adoptBucket(limited, store)).rejects.toThrow(
    `The account ${role} of the database needs a right: grant execute on function pg_control_system() to ${role}.`,
  );
});
