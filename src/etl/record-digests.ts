import { hash } from 'node:crypto';
import { digestBytes } from './digest-context';
import type { RecordPlace } from './row-issues';

/** How many records a block holds: 192 KiB are read and written at once. */
export const recordsPerBlock = 8_192;

/** Records and the skus of their products, in digests at the same places, as they are stored. */
export interface DigestBlock {
  records: Buffer;
  skus: Buffer;
}

/** How a digest begins that is none. One in four billion others begins like that, and is not found. */
const none = 0;

/** How much of a hash table may be full: beyond that, what is not there is looked for in too many slots. */
const fullness = 0.75;

/** What has become in this run of the sku at a place. */
const untouched = 0;
/** A record says what its product says; nothing was done for it. */
const unchanged = 1;
/** Its records travel to the database, where the last one wins. */
const travelling = 2;

/** A block in memory. */
interface Block extends DigestBlock {
  states: Uint8Array;
  /** Line, last line and row of the record that has left its product unchanged; made with the first one. */
  places: Uint32Array | undefined;
  changed: boolean;
}

/** How many blocks all runs of a thread may have in memory together, those included that are taken. */
export class BlockBudget {
  constructor(private free: number) {}

  /** Takes room for one more block. @returns whether there is some */
  take(): boolean {
    if (this.free === 0) return false;
    this.free--;
    return true;
  }

  giveBack(blocks: number): void {
    this.free += blocks;
  }
}

/**
 * The records that are known to say what the partner's products say: in a feed, such a record needs no more than its
 * digest. Every other record travels to the database, which compares its values; a digest that is missing, or forgotten
 * for lack of room, costs time and changes nothing.
 *
 * One digest belongs to one product, found by its sku. In what follows a place is the number of such a pair.
 */
export class RecordDigests {
  private readonly blocks: Block[] = [];
  private count = 0;
  private readonly byRecord: DigestIndex;
  private bySku: DigestIndex | undefined;
  /** The digest of the record that was looked for last. */
  private readonly digest = Buffer.alloc(digestBytes);
  private readonly skuDigest = Buffer.alloc(digestBytes);
  /** The context, and room for a record behind it. */
  private hashed: Buffer;
  /** Whether a record has travelled. */
  hasTravelled = false;
  /** Whether one has whose sku was there before; unless there was no room for that. */
  hasRepeatedSku = false;

  /**
   * @param context - see `digestContext`
   * @param blockCount - how many blocks will be added
   */
  constructor(
    context: Buffer,
    private readonly budget: BlockBudget,
    blockCount: number,
  ) {
    this.byRecord = new DigestIndex((place) => this.block(place).records, blockCount * recordsPerBlock);
    this.hashed = Buffer.concat([context, Buffer.alloc(4096)]);
  }

  /** Takes in a block as it was stored. @returns false when there is no room for it */
  add({ records, skus }: DigestBlock): boolean {
    const block = this.newBlock();
    if (!block) return false;
    records.copy(block.records);
    skus.copy(block.skus);
    for (let at = 0; at < records.length; at += digestBytes, this.count++) {
      if (records.readInt32LE(at) !== none) this.byRecord.add(this.count);
    }
    return true;
  }

  /**
   * Whether the record leaves its product as it is, and is the first in this feed that says anything of it; then its place
   * in the file is noted. If not, it has to travel: `travels` is to be called, unless it cannot be loaded.
   */
  isUnchanged(record: Buffer, { line, lastLine, row }: RecordPlace): boolean {
    this.digestOf(record);
    const place = this.byRecord.find(this.digest);
    if (place === -1) return false;
    const block = this.block(place);
    const at = place % recordsPerBlock;
    if (block.states[at] !== untouched) return false;
    block.states[at] = unchanged;
    block.places ??= new Uint32Array(3 * recordsPerBlock);
    block.places[3 * at] = line;
    block.places[3 * at + 1] = lastLine;
    block.places[3 * at + 2] = row;
    return true;
  }

  /**
   * Notes that the record that was looked for last travels.
   * @param isClean - whether all that there is to say of the record is its values
   * @returns the record before it that had left the same product unchanged: it has to travel too
   */
  travels(sku: string, isClean: boolean): RecordPlace | undefined {
    this.hasTravelled = true;
    this.skuDigest.write(hash('sha256', sku, 'binary'), 0, digestBytes, 'latin1');
    const place = this.placeOfSku();
    if (place === -1) return undefined;
    const block = this.block(place);
    const at = place % recordsPerBlock;
    const wasUnchanged = block.states[at] === unchanged;
    this.hasRepeatedSku ||= block.states[at] !== untouched;
    block.states[at] = travelling;
    block.changed = true;
    if (isClean) this.digest.copy(block.records, at * digestBytes);
    else block.records.fill(0, at * digestBytes, (at + 1) * digestBytes);
    if (!wasUnchanged) return undefined;
    const places = block.places!;
    return { line: places[3 * at]!, lastLine: places[3 * at + 1]!, row: places[3 * at + 2]! };
  }

  /** The blocks that are not as they were stored, with their numbers. */
  *changedBlocks(): Generator<DigestBlock & { number: number }> {
    for (const [number, { records, skus, changed }] of this.blocks.entries()) {
      if (!changed) continue;
      const bytes = Math.min(this.count - number * recordsPerBlock, recordsPerBlock) * digestBytes;
      yield { number, records: records.subarray(0, bytes), skus: skus.subarray(0, bytes) };
    }
  }

  get blockCount(): number {
    return this.blocks.length;
  }

  /** Gives its memory back. */
  release(): void {
    this.budget.giveBack(this.blocks.length);
    this.blocks.length = 0;
  }

  private block(place: number): Block {
    return this.blocks[Math.floor(place / recordsPerBlock)]!;
  }

  private newBlock(): Block | undefined {
    if (!this.budget.take()) return undefined;
    const block: Block = {
      records: Buffer.alloc(recordsPerBlock * digestBytes),
      skus: Buffer.alloc(recordsPerBlock * digestBytes),
      states: new Uint8Array(recordsPerBlock),
      places: undefined,
      changed: false,
    };
    this.blocks.push(block);
    return block;
  }

  /** Leaves the digest of the record, with its context, in `digest`. */
  private digestOf(record: Buffer): void {
    const length = digestBytes + record.length;
    if (length > this.hashed.length) {
      this.hashed = Buffer.concat([this.hashed.subarray(0, digestBytes), Buffer.alloc(2 * record.length)]);
    }
    record.copy(this.hashed, digestBytes);
    this.digest.write(hash('sha256', this.hashed.subarray(0, length), 'binary'), 0, digestBytes, 'latin1');
  }

  /** The place of the sku in `skuDigest`, a new one if need be; -1 when there is no room for it. */
  private placeOfSku(): number {
    if (!this.bySku) {
      this.bySku = new DigestIndex((place) => this.block(place).skus, this.count);
      for (let place = 0; place < this.count; place++) this.bySku.add(place);
    }
    const known = this.bySku.find(this.skuDigest);
    if (known !== -1) return known;
    if (this.count === this.blocks.length * recordsPerBlock && !this.newBlock()) return -1;
    const place = this.count++;
    this.skuDigest.copy(this.block(place).skus, (place % recordsPerBlock) * digestBytes);
    this.bySku.add(place);
    return place;
  }
}

/** Finds places by their digests: a hash table of place numbers, whose digests are elsewhere. */
class DigestIndex {
  /** Place and one, or 0; three quarters of them full at most. */
  private slots: Int32Array;
  private count = 0;

  /**
   * @param digestsOf - the digests of the place's block
   * @param expected - how many places there will be, about
   */
  constructor(
    private readonly digestsOf: (place: number) => Buffer,
    expected: number,
  ) {
    this.slots = new Int32Array(Math.ceil((expected + recordsPerBlock) / fullness));
  }

  /** The place with this digest, also if it was another when the place was added; -1 when there is none. */
  find(digest: Buffer): number {
    const { slots } = this;
    for (let slot = digest.readUInt32LE(0) % slots.length; ; slot = (slot + 1) % slots.length) {
      const place = slots[slot]! - 1;
      if (place === -1) return -1;
      const at = (place % recordsPerBlock) * digestBytes;
      if (digest.compare(this.digestsOf(place), at, at + digestBytes) === 0) return place;
    }
  }

  add(place: number): void {
    if (++this.count > fullness * this.slots.length) this.grow();
    this.put(place);
  }

  private put(place: number): void {
    const { slots } = this;
    let slot = this.digestsOf(place).readUInt32LE((place % recordsPerBlock) * digestBytes) % slots.length;
    while (slots[slot] !== 0) slot = (slot + 1) % slots.length;
    slots[slot] = place + 1;
  }

  private grow(): void {
    const places = this.slots;
    this.slots = new Int32Array(2 * places.length);
    for (const place of places) if (place !== 0) this.put(place - 1);
  }
}
