import type { Knex } from 'knex';
import { changeRows, queryRows } from '../../../base/db/database';
import { connectionOf } from '../../../base/db/dialect';
import { sql } from '../../../base/db/sql';
import { to as copyTo } from 'pg-copy-streams';
import { BlockBudget, RecordDigests, type DigestBlock } from './record-digests';
import { digestBytes, digestContext, rulesVersion, type DigestOptions } from './digest-context';
import type { FeedHeader } from '../../../feed-format/read/header-columns';

/**
 * Memory budget of the digests of all runs and plans of the ETL thread, in blocks of 8,192: enough for a partner of 1.6
 * million products, in 80 MB. Records of further products are always staged.
 */
const threadBudget = new BlockBudget(200);

/** Stored block; `version` is the transaction that wrote it. */
interface BlockVersion {
  block_number: number;
  version: string;
}

/** Stored digests of a partner's products, for one run or plan. The caller releases them. */
export class PartnerDigests {
  private digests: RecordDigests | undefined;
  /** Versions of the blocks when they were loaded. */
  private versions: BlockVersion[] = [];
  /** Whether the memory budget ended before all blocks were loaded. */
  private hasMore = false;

  constructor(
    private readonly trx: Knex.Transaction,
    private readonly partnerId: number,
    private readonly budget = threadBudget,
  ) {}

  /** Loads the digests within the memory budget. @param header - header of the feed to be compared */
  async load(header: FeedHeader, options?: DigestOptions): Promise<RecordDigests> {
    return this.loadFor(digestContext(header, rulesVersion, options));
  }

  /** Loads the digests only to drop some: no record is compared. */
  async loadToForget(): Promise<void> {
    await this.loadFor(Buffer.alloc(digestBytes));
  }

  private async loadFor(context: Buffer): Promise<RecordDigests> {
    this.release();
    this.versions = await this.readVersions();
    const digests = new RecordDigests(context, this.budget);
    this.digests = digests;
    for (const { block_number } of this.versions) {
      const block = await this.read(block_number);
      this.hasMore = block !== undefined && !digests.add(block);
      if (!block || this.hasMore) break;
    }
    return digests;
  }

  /**
   * Deletes the stored digests if there are manual changes, and empties their log.
   * The caller holds the partner's lock and has not read products yet: changes committed later stay in the log for the
   * next run.
   */
  async applyManualChanges(): Promise<void> {
    // `skip locked`: a row that an open transaction relies on stays in the log.
    const { trx, partnerId } = this;
    await changeRows(
      trx,
      sql`with seen as (
         select from manual_changes where partner_id = ${partnerId}
       ), accounted as (
         delete from manual_changes
         where (partner_id, manual_change_id) in (
           select partner_id, manual_change_id from manual_changes where partner_id = ${partnerId} for update skip locked
         )
       )
       delete from digest_blocks where partner_id = ${partnerId} and exists (select from seen)`,
    );
  }

  /**
   * Tells whether no run or manual change has committed since the digests were loaded.
   *
   * The caller holds the partner's lock and has not read products yet.
   */
  async areCurrent(): Promise<boolean> {
    await this.applyManualChanges();
    const now = await this.readVersions();
    const same = ({ block_number, version }: BlockVersion, at: number) =>
      block_number === this.versions[at]?.block_number && version === this.versions[at].version;
    return now.length === this.versions.length && now.every(same);
  }

  /** Drops the digests of skus. */
  forget(skus: readonly string[]): void {
    for (const sku of skus) this.digests?.forget(sku);
  }

  /** Stores the changed digests. Call it when the products are written. */
  async save(): Promise<void> {
    const { trx, partnerId, digests } = this;
    if (!digests?.hasChanges) return;
    for (const { number, records, skus } of digests.changedBlocks()) {
      await changeRows(
        trx,
        sql`insert into digest_blocks (partner_id, block_number, records, skus)
         values (${partnerId}, ${number}, ${records}, ${skus})
         on conflict (partner_id, block_number) do update set records = excluded.records, skus = excluded.skus`,
      );
    }
    if (!this.hasMore) return;
    // The products of blocks that were not loaded may have changed.
    await trx('digest_blocks')
      .where({ partner_id: partnerId })
      .where('block_number', '>=', digests.blockCount)
      .delete();
  }

  /** Returns the memory to the budget. */
  release(): void {
    this.digests?.release();
    this.digests = undefined;
  }

  /**
   * Lists the stored blocks; none while the log contains a manual change.
   *
   * Every run that changes products changes, removes or adds a block.
   */
  private readVersions(): Promise<BlockVersion[]> {
    const { trx, partnerId } = this;
    return queryRows<BlockVersion>(
      trx,
      sql`select block_number, cast(xmin as text) as version from digest_blocks
       where partner_id = ${partnerId} and not exists (select from manual_changes where partner_id = ${partnerId})
       order by block_number`,
    );
  }

  /** Reads a block as binary, which takes half the time of text. @returns undefined when it was deleted */
  private async read(blockNumber: number): Promise<DigestBlock | undefined> {
    const client = await connectionOf(this.trx);
    // COPY takes no parameters.
    const copy = `copy (
      select records, skus from digest_blocks where partner_id = ${this.partnerId} and block_number = ${blockNumber}
    ) to stdout (format binary)`;
    const chunks: Buffer[] = [];
    for await (const chunk of client.query(copyTo(copy))) chunks.push(chunk as Buffer);
    return parseBlock(Buffer.concat(chunks));
  }
}

/** Length of the header of a binary COPY: a signature of 11 bytes and two integers. */
const copyHeaderBytes = 19;

/** Parses the only row of a binary COPY: the number of its fields (-1: no row), then each field after its length. */
function parseBlock(bytes: Buffer): DigestBlock | undefined {
  if (bytes.readInt16BE(copyHeaderBytes) === -1) return undefined;
  const recordsAt = copyHeaderBytes + 2 + 4;
  const skusAt = recordsAt + bytes.readInt32BE(recordsAt - 4) + 4;
  return {
    records: bytes.subarray(recordsAt, skusAt - 4),
    skus: bytes.subarray(skusAt, skusAt + bytes.readInt32BE(skusAt - 4)),
  };
}
