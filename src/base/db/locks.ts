import { queryRows, type Database } from './database';
import { raw, sql, type Sql } from './sql';

/**
 * All advisory locks of the service, each kind with the low byte of its keys.
 *
 * A transaction that takes several takes them in the order of this list: that prevents deadlocks. All locks except `owner` end
 * with their transaction, as do row locks. "Tries" means that it does not wait for another holder.
 *
 * | Kind             | Number       | What it protects                       | Taken by                                             |
 * | ---------------- | ------------ | -------------------------------------- | ---------------------------------------------------- |
 * | `owner`          | one          | Data of the embedded server            | Its process, for a session until it ends; tries      |
 * | `migration`      | one          | Schema                                 | Transaction of each migration; tries                 |
 * | `idempotencyKey` | hash of key  | Request with an `Idempotency-Key`      | Upload, batch of orders; tries. Early check: shared  |
 * | `reservation`    | job          | Job whose run its process repeats      | Thread of that process; waits. All other claims: try |
 * | `run`            | job          | Run: its holder loads or recovers it   | Claim; tries. Recovery by the reserving thread waits |
 * | `partner`        | partner      | Products, except by manual changes     | Merge of a run, merge of partners (ascending),       |
 * |                  |              |                                        | `recount_partner`; wait. First load, removal; try    |
 * | `history`        | partner      | Order of changes of a catalog          | Begin of a single withdrawal, end of any change;     |
 * |                  |              |                                        | waits for orders only, after rows of products        |
 * | `withdrawals`    | partner      | Ordered products against withdrawals   | Orders: shared (ascending), by `products_to_order`.  |
 * |                  |              |                                        | End of a change that withdraws; both wait            |
 * | `stalePartners`  | one          | Check for stale partners               | Batch of the check; tries                            |
 * | `attention`      | partner      | Reasons for which it needs attention   | `keepAttention` (ascending), last of all; waits      |
 * | `formats`        | partner      | Number of its stored formats           | Storing a format, after the row of the partner;      |
 * |                  |              |                                        | alone; waits                                         |
 * | `webhooks`       | partner      | Number of its named webhooks           | As `formats`                                         |
 * | `searchIndex`    | partner      | Indexing for the search                | Batch of the indexing; alone; tries                  |
 *
 * Beside it, `partner` locks the row of the partner, after the advisory lock: release 1.2.0 locks only that.
 *
 * A kind keeps its byte once it is released: processes of two releases exclude each other during an upgrade. Release 1.2.0 has
 * `run`, `idempotencyKey`, `migration` and `owner`; functions of the schema have `partner` and `withdrawals`.
 */
export const lockKinds = {
  owner: 0x72,
  migration: 0x74,
  idempotencyKey: 2,
  reservation: 6,
  run: 1,
  partner: 3,
  history: 5,
  withdrawals: 4,
  stalePartners: 8,
  attention: 9,
  formats: 10,
  webhooks: 11,
  searchIndex: 7,
};

export type LockKind = keyof typeof lockKinds;

/** Numbers of the kinds with only one lock. */
export const onlyLock = { owner: 0x6f776e, migration: 0x706361, stalePartners: 0 };

/** Returns the key of a lock. @param number - of 56 bits, signed */
export const lockKeyOf = (kind: LockKind, number: bigint): bigint => (number << 8n) | BigInt(lockKinds[kind]);

const keySql = (kind: LockKind, number: Sql): Sql => sql`(${number} << 8) | ${raw(lockKinds[kind])}`;

/** Expression that takes a lock until the transaction ends; waits for other holders. @param number - SQL of a bigint of 56 bits, signed */
export const lockSql = (kind: LockKind, number: Sql): Sql =>
  sql`pg_advisory_xact_lock(${keySql(kind, number)})`;

/** As `lockSql`, but shared with other shared holders. */
export const sharedLockSql = (kind: LockKind, number: Sql): Sql =>
  sql`pg_advisory_xact_lock_shared(${keySql(kind, number)})`;

/** Expression that takes a lock until the transaction ends, unless another one holds it; false then. */
export const tryLockSql = (kind: LockKind, number: Sql): Sql => tryLockOfKeySql(keySql(kind, number));

/** As `tryLockSql`. @param key - SQL of a complete key, see `lockKeyOf` */
export const tryLockOfKeySql = (key: Sql): Sql => sql`pg_try_advisory_xact_lock(${key})`;

/** As `tryLockSql`, but shared with other shared holders. */
export const trySharedLockSql = (kind: LockKind, number: Sql): Sql =>
  sql`pg_try_advisory_xact_lock_shared(${keySql(kind, number)})`;

/** As `tryLockSql`, but until the session ends. */
export const trySessionLockSql = (kind: LockKind, number: Sql): Sql =>
  sql`pg_try_advisory_lock(${keySql(kind, number)})`;

const numberSql = (number: number | bigint): Sql => sql`cast(${String(number)} as bigint)`;

/** Takes a lock until the transaction ends; waits for other holders. */
export async function takeLock(trx: Database, kind: LockKind, number: number | bigint): Promise<void> {
  await queryRows(trx, sql`select ${lockSql(kind, numberSql(number))}`);
}

/** Takes a lock until the transaction ends, unless another one holds it. @returns whether it is taken */
export async function tryLock(trx: Database, kind: LockKind, number: number | bigint): Promise<boolean> {
  return isTaken(trx, tryLockSql(kind, numberSql(number)));
}

/** As `tryLock`, but shared with other shared holders. */
export async function trySharedLock(
  trx: Database,
  kind: LockKind,
  number: number | bigint,
): Promise<boolean> {
  return isTaken(trx, trySharedLockSql(kind, numberSql(number)));
}

async function isTaken(trx: Database, lock: Sql): Promise<boolean> {
  const [row] = await queryRows<{ isTaken: boolean }>(trx, sql`select ${lock} as "isTaken"`);
  return row!.isTaken;
}
