import type { Knex } from 'knex';
import { connectionOf } from '../../db/database';
import { to as copyTo } from 'pg-copy-streams';
import { BlockBudget, RecordDigests, type DigestBlock } from './record-digests';
import { digestContext } from './digest-context';
import type { FeedHeader } from '../../feed-format/header';

/**
 * How many blocks of 8,192 record digests the ETL thread keeps in memory, of all runs at work: enough for a partner of
 * 1.6 million products, in 80 MB. The records of further products travel to the database whenever they come.
 */
const digestBlocks = 200;

/** Of the thread: the runs and plans at work share it. */
const threadBudget = new BlockBudget(digestBlocks);

/** A block as it stands; `version` names the transaction that wrote it. */
interface BlockVersion {
  block_number: number;
  version: string;
}

/** The stored digests of a partner's products, for the time of one run or plan. The caller releases them. */
export class PartnerDigests {
  private digests: RecordDigests | undefined;
  /** The blocks as they were when they were loaded. */
  private versions: BlockVersion[] = [];
  /** Whether some blocks found no room. */
  private hasMore = false;

  constructor(
    private readonly trx: Knex.Transaction,
    private readonly partnerId: number,
    private readonly budget = threadBudget,
  ) {}

  /** Loads as many as there is room for. @param header - of the feed whose records are to be looked for */
  async load(header: FeedHeader): Promise<RecordDigests> {
    this.release();
    this.versions = await this.readVersions();
    const digests = new RecordDigests(digestContext(header), this.budget);
    this.digests = digests;
    for (const { block_number } of this.versions) {
      const block = await this.read(block_number);
      this.hasMore = block !== undefined && !digests.add(block);
      if (!block || this.hasMore) break;
    }
    return digests;
  }

  /**
   * Takes account of the manual changes that are committed by now: drops them from the log, and with them the stored digests.
   * To be called under the partner's lock, before products are read: what is committed later stays in the log, and the next
   * run takes account of it.
   */
  async accountForManualChanges(): Promise<void> {
    // A row of the log that an open transaction relies on stays: nothing here waits for it.
    await this.trx.raw(
      `with seen as (
         select from manual_changes where partner_id = :partnerId
       ), accounted as (
         delete from manual_changes
         where (partner_id, manual_change_id) in (
           select partner_id, manual_change_id from manual_changes where partner_id = :partnerId for update skip locked
         )
       )
       delete from digest_blocks where partner_id = :partnerId and exists (select from seen)`,
      { partnerId: this.partnerId },
    );
  }

  /**
   * Whether the products that the loaded digests describe are unchanged since, by another run or by hand. To be called
   * under the partner's lock, before products are read.
   */
  async areCurrent(): Promise<boolean> {
    await this.accountForManualChanges();
    const now = await this.readVersions();
    const same = ({ block_number, version }: BlockVersion, at: number) =>
      block_number === this.versions[at]?.block_number && version === this.versions[at].version;
    return now.length === this.versions.length && now.every(same);
  }

  /** Stores what a run has learnt: to be called when its products are written. */
  async save(): Promise<void> {
    const { trx, partnerId, digests } = this;
    if (!digests?.hasTravelled) return;
    for (const { number, records, skus } of digests.changedBlocks()) {
      await trx.raw(
        `insert into digest_blocks (partner_id, block_number, records, skus) values (?, ?, ?, ?)
         on conflict (partner_id, block_number) do update set records = excluded.records, skus = excluded.skus`,
        [partnerId, number, records, skus],
      );
    }
    if (!this.hasMore) return;
    // Products may have changed whose records stand there.
    await trx('digest_blocks')
      .where({ partner_id: partnerId })
      .where('block_number', '>=', digests.blockCount)
      .delete();
  }

  /** Gives their memory back. */
  release(): void {
    this.digests?.release();
    this.digests = undefined;
  }

  /**
   * The stored blocks, none of them while the log has a manual change. Every change of products by a run changes a block,
   * removes one or adds one.
   */
  private async readVersions(): Promise<BlockVersion[]> {
    const { rows } = await this.trx.raw<{ rows: BlockVersion[] }>(
      `select block_number, cast(xmin as text) as version from digest_blocks
       where partner_id = :partnerId and not exists (select from manual_changes where partner_id = :partnerId)
       order by block_number`,
      { partnerId: this.partnerId },
    );
    return rows;
  }

  /** In binary: as text it would be twice as long, and take twice the time. @returns undefined when it is gone meanwhile */
  private async read(blockNumber: number): Promise<DigestBlock | undefined> {
    const client = await connectionOf(this.trx);
    // A copy takes no parameters; the numbers come from our own tables.
    const sql = `copy (
      select records, skus from digest_blocks where partner_id = ${this.partnerId} and block_number = ${blockNumber}
    ) to stdout (format binary)`;
    const chunks: Buffer[] = [];
    for await (const chunk of client.query(copyTo(sql))) chunks.push(chunk as Buffer);
    return parseBlock(Buffer.concat(chunks));
  }
}

/** What stands before the first row: a signature of 11 bytes, and two numbers. */
const copyHeaderBytes = 19;

/** The one row of a binary copy: the number of its fields (or -1, the end), and each with its length before it. */
function parseBlock(bytes: Buffer): DigestBlock | undefined {
  if (bytes.readInt16BE(copyHeaderBytes) === -1) return undefined;
  const recordsAt = copyHeaderBytes + 2 + 4;
  const skusAt = recordsAt + bytes.readInt32BE(recordsAt - 4) + 4;
  return {
    records: bytes.subarray(recordsAt, skusAt - 4),
    skus: bytes.subarray(skusAt, skusAt + bytes.readInt32BE(skusAt - 4)),
  };
}
