/*
 * A bucket belongs to one database: another one takes the files of the bucket for orphans, and a copy, such as a restored dump,
 * prunes and removes files that the original needs.
 */
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { DatabaseError } from 'pg';
import { changeRows, queryRows, type Database } from '../../base/db/database';
import { sql } from '../../base/db/sql';
import { keyPrefixes, ownerKey } from '../../base/storage/object-key';
import { StorageError, type ObjectStore } from '../../base/storage/object-store';

/** Content of the object `ownerKey`. */
interface BucketOwner {
  identity: string;
  /** Shown to operators, as `written_at`. */
  database: string;
  written_at: string;
}

/** Why a bucket may not be the database's. */
export interface BucketProblem {
  /** Another database has the bucket. False: no database has it yet. */
  isForeign: boolean;
  /** With what the operator can do. */
  message: string;
}

/** What makes a bucket belong to the database of the settings. */
export const adoptCommand = 'npm run --silent admin -- objects clean --adopt';
const insufficientPrivilege = '42501';

/**
 * Returns why the bucket is not known to belong to this database; undefined if it does.
 * @throws StorageError; Error if the account of the database lacks a right
 */
export async function findBucketProblem(
  db: Database,
  objectStore: ObjectStore,
): Promise<BucketProblem | undefined> {
  const owner = await readOwner(objectStore);
  const { bucket } = objectStore;
  if (owner === undefined) {
    const message = `The bucket ${bucket} does not say to which database it belongs. If no other database uses it: ${adoptCommand}.`;
    return { isForeign: false, message };
  }
  if (owner !== 'unknown' && owner.identity === (await identify(db)).identity) return undefined;
  const named = owner === 'unknown' ? owner : `${JSON.stringify(owner.database)}, since ${owner.written_at}`;
  const message =
    `The bucket ${bucket} belongs to another database (${named}). Set the bucket of this database, or, if the other one no ` +
    `longer uses it: ${adoptCommand}.`;
  return { isForeign: true, message };
}

/**
 * Makes the bucket belong to this database, whichever had it before.
 * @param objectStore - is prepared
 * @throws like `findBucketProblem`
 */
export async function adoptBucket(db: Database, objectStore: ObjectStore): Promise<void> {
  const owner: BucketOwner = { ...(await identify(db)), written_at: new Date().toISOString() };
  const content = Buffer.from(`${JSON.stringify(owner)}\n`);
  await objectStore.put(ownerKey, Readable.from([content]), 'application/json');
}

/**
 * Adopts a bucket that is new: without files and without an owner. When two databases claim it at once, the last one has it, and the
 * other one finds the problem before its first deletion.
 * @returns like `findBucketProblem`, which has the errors too
 */
export async function claimBucket(
  db: Database,
  objectStore: ObjectStore,
): Promise<BucketProblem | undefined> {
  const problem = await findBucketProblem(db, objectStore);
  if (problem === undefined || problem.isForeign || (await hasFiles(objectStore))) return problem;
  await adoptBucket(db, objectStore);
  return undefined;
}

/**
 * Makes this database another one than those with the same files, such as a snapshot of its disk. Its bucket then belongs to the others.
 * @returns false for a schema without identity: the migration creates a new one
 */
export async function renewIdentity(db: Database): Promise<boolean> {
  const [found] = await queryRows<{ hasIdentity: boolean }>(
    db,
    sql`select to_regclass('database_identity') is not null as "hasIdentity"`,
  );
  if (!found!.hasIdentity) return false;
  await changeRows(db, sql`update database_identity set identity = gen_random_uuid()`);
  return true;
}

/**
 * Reads the identity of the database: its own, with those that PostgreSQL gives to server and database. A dump that is restored
 * elsewhere, or a database that is made from this one as template, has the same first part and other ones after it.
 */
async function identify(db: Database): Promise<Pick<BucketOwner, 'identity' | 'database'>> {
  try {
    const [row] = await queryRows<Pick<BucketOwner, 'identity' | 'database'>>(
      db,
      sql`select concat_ws('.', identity, system_identifier, pg_database.oid) as identity, datname as database
       from database_identity, pg_control_system(), pg_database where datname = current_database()`,
    );
    return row!;
  } catch (error) {
    if ((error as DatabaseError).code !== insufficientPrivilege) throw error;
    const [row] = await queryRows<{ account: string; mayExecute: boolean }>(
      db,
      sql`select current_user as account, has_function_privilege('pg_control_system()', 'execute') as "mayExecute"`,
    );
    const { account, mayExecute } = row!;
    if (mayExecute) throw error;
    throw new Error(
      `The account ${account} of the database needs a right: grant execute on function pg_control_system() to ${account}.`,
      { cause: error },
    );
  }
}

/** Reads whom the bucket belongs to; undefined: no database yet; 'unknown': the object is not of this service. */
async function readOwner(objectStore: ObjectStore): Promise<BucketOwner | 'unknown' | undefined> {
  let content: string;
  try {
    content = await text(await objectStore.get(ownerKey));
  } catch (error) {
    if (error instanceof StorageError && error.missing) return undefined;
    throw error;
  }
  try {
    const { identity, database, written_at } = JSON.parse(content) as Partial<BucketOwner>;
    const texts = [identity, database, written_at];
    return texts.every((each) => typeof each === 'string') ? (JSON.parse(content) as BucketOwner) : 'unknown';
  } catch {
    return 'unknown';
  }
}

async function hasFiles(objectStore: ObjectStore): Promise<boolean> {
  for (const prefix of keyPrefixes) {
    for await (const _first of objectStore.list(prefix)) return true;
  }
  return false;
}
