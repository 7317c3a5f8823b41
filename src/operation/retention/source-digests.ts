import type { Knex } from 'knex';
import { changeRows, queryRows, queryRowsWithin, type Database } from '../../base/db/database';
import { sql } from '../../base/db/sql';
import { databaseTimeouts, inTransaction } from '../../base/db/transaction';
import { openRawFile } from '../../runs/etl/raw-file';
import { FeedFailure } from '../../runs/etl/run-result';
import { sha256 } from '../../intake/provenance/record-source';
import type { ObjectStore } from '../../base/storage/object-store';
import { pauseAfter } from '../../base/concurrency/batches';
import type { Lease } from './lease';
import type { ExpiredFile } from './raw-files';

/** Products per statement. */
const batchProducts = 10_000;

/** Records per transaction, whether or not their digests are kept: the lease is renewed while a file is read. */
const batchRecords = 10_000;

/** Digest of a record with its offset in the file. */
interface RecordDigest {
  offset: number;
  digest: Buffer;
}

/** Lists the offsets of ordered records, by the numbers of the feeds. Reads all order items: they have no index by feed. */
export async function listOrderedOffsets(
  db: Database,
  files: readonly ExpiredFile[],
): Promise<Map<number, number[]>> {
  if (files.length === 0) return new Map();
  const feedIds = files.map(({ feedId }) => feedId);
  const rows = await inTransaction(db, 'bulk', (trx) =>
    queryRowsWithin<{ feedId: number; offsets: number[] }>(
      trx,
      databaseTimeouts.bulkMilliseconds,
      sql`select feed_id as "feedId", array_agg(distinct record_offset) as offsets from order_items
         where feed_id = any (${feedIds}) and record_offset is not null group by feed_id`,
    ),
  );
  return new Map(rows.map(({ feedId, offsets }) => [feedId, offsets.map(Number)]));
}

interface DigestContext {
  db: Database;
  objectStore: ObjectStore;
  lease: Lease;
  /** Aborts between two batches. */
  signal: AbortSignal | undefined;
}

/**
 * Stores the digests of the records that products and order items come from, which outlast the file. Stores none if the
 * file is missing or is not the uploaded one. Can be repeated.
 * @param ordered - offsets of the records of order items
 * @returns false if it was aborted
 * @throws FeedFailure when the object store is unavailable; PruneInProgress
 */
export async function keepDigests(
  { db, objectStore, lease, signal }: DigestContext,
  file: ExpiredFile,
  ordered: readonly number[],
): Promise<boolean> {
  const wanted = new Set(ordered);
  for await (const offset of listProductOffsets(db, file)) wanted.add(offset);
  if (wanted.size === 0) return !signal?.aborted;
  try {
    let startedAt = performance.now();
    for await (const digests of digestRecords(objectStore, file, wanted)) {
      await lease((trx) => insertDigests(trx, file.feedId, digests));
      await pauseAfter(startedAt, signal);
      if (signal?.aborted) return false;
      startedAt = performance.now();
    }
  } catch (error) {
    if (!(error instanceof FeedFailure) || error.unavailable) throw error;
    await lease((trx) => trx('source_digests').where('feed_id', file.feedId).delete());
  }
  return true;
}

/** Lists the offsets of the records that products come from, in separate statements. */
async function* listProductOffsets(db: Database, { partnerId, feedId }: ExpiredFile): AsyncGenerator<number> {
  let after = 0;
  for (;;) {
    const rows = await queryRows<{ productId: number; offset: number | null }>(
      db,
      sql`select product_id as "productId", record_offset as "offset" from products
       where partner_id = ${partnerId} and feed_id = ${feedId} and product_id > ${after}
       order by product_id limit ${batchProducts}`,
    );
    for (const { offset } of rows) if (offset !== null) yield offset;
    if (rows.length < batchProducts) return;
    after = rows.at(-1)!.productId;
  }
}

/** Digests the wanted records of a file, in batches. @throws FeedFailure when the file cannot be read completely */
async function* digestRecords(
  objectStore: ObjectStore,
  file: ExpiredFile,
  wanted: ReadonlySet<number>,
): AsyncGenerator<RecordDigest[]> {
  const { records: read, close } = await openRawFile(objectStore, file, { keepsBytes: true });
  let digests: RecordDigest[] = [];
  let records = 0;
  const batches = read<RecordDigest[]>(
    () => null,
    (record) => {
      const { offset } = record;
      if (wanted.has(offset)) digests.push({ offset, digest: sha256(record.sourceBytes()) });
      if (++records % batchRecords !== 0) return null;
      const batch = digests;
      digests = [];
      return batch;
    },
  );
  try {
    yield* batches;
    yield digests;
  } finally {
    await close();
  }
}

async function insertDigests(
  trx: Knex.Transaction,
  feedId: number,
  digests: readonly RecordDigest[],
): Promise<void> {
  const offsets = digests.map(({ offset }) => offset);
  const sha256s = digests.map(({ digest }) => digest);
  await changeRows(
    trx,
    sql`insert into source_digests (feed_id, record_offset, sha256)
     select ${feedId}, record_offset, sha256
     from unnest(cast(${offsets} as bigint[]), cast(${sha256s} as bytea[])) as kept (record_offset, sha256)
     on conflict do nothing`,
  );
}
