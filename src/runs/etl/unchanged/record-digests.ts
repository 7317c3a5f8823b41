import { hash } from 'node:crypto';
import { digestBytes } from './digest-context';
import type { RecordPlace } from '../../../feed-format/read/extract';

/** Records per block: 192 KiB are read and written at once. */
export const recordsPerBlock = 8_192;

/** Stored block: digests of records, and of their skus in the same order. */
export interface DigestBlock {
  records: Buffer;
  skus: Buffer;
}

/** Digests in memory are words of four bytes, which are compared without a call. */
const wordsPerDigest = digestBytes / 4;

/** First word of an empty digest. One in four billion real digests has it too, and is not found. */
const none = 0;

/** Maximum load factor of a hash table: beyond it, an unsuccessful search probes too many buckets. */
const loadFactorMax = 0.75;

/** State of a sku in this run: no record so far; */
const unseen = 0;
/** one record, which leaves its product unchanged and is not staged; */
const unchanged = 1;
/** all its records staged; PostgreSQL selects the last one. */
const staged = 2;

interface Block {
  records: Int32Array;
  skus: Int32Array;
  states: Uint8Array;
  /** Line, last line and row of each unchanged record; allocated with the first one. */
  places: Uint32Array | undefined;
  changed: boolean;
}

/**
 * Recognizes records that leave their product unchanged, by digest.
 *
 * All other records are staged, and PostgreSQL compares their values: a missing digest costs time and changes nothing. Each
 * product, identified by its sku, has one slot: the index of its record digest and its sku digest.
 */
export class RecordDigests {
  private readonly blocks: Block[] = [];
  private count = 0;
  /** Built on first use: not needed for a feed in the order of the previous one. */
  private byRecord: DigestIndex | undefined;
  private bySku: DigestIndex | undefined;
  /** Expected slot of the next record: feeds keep their order. */
  private nextSlot = 0;
  private readonly context: Int32Array;
  /** Digest of the last record. */
  private readonly digest = new Int32Array(wordsPerDigest);
  private readonly skuDigest = new Int32Array(wordsPerDigest);
  /** Whether rows were staged or digests dropped. */
  hasChanges = false;
  /** Whether a sku repeats among the records whose slot fits into memory. */
  hasRepeatedSku = false;

  /** @param context - see `digestContext` */
  constructor(
    context: Buffer,
    private readonly budget: BlockBudget,
  ) {
    this.context = new Int32Array(wordsPerDigest);
    context.copy(bytesOf(this.context));
  }

  /** Adds a stored block. @returns false when the memory budget is spent */
  add({ records, skus }: DigestBlock): boolean {
    const block = this.newBlock();
    if (!block) return false;
    records.copy(bytesOf(block.records));
    skus.copy(bytesOf(block.skus));
    this.count += records.length / digestBytes;
    return true;
  }

  /**
   * Tells whether the record leaves its product unchanged and is the first of its sku in this feed.
   * If not, the caller stages the record, if it is valid, and calls `markStaged`.
   */
  isUnchanged(record: Buffer, { line, lastLine, row }: RecordPlace): boolean {
    this.computeDigest(record);
    const slot = this.findRecord();
    if (slot === -1) return false;
    this.nextSlot = slot + 1;
    const block = this.block(slot);
    const at = slot % recordsPerBlock;
    if (block.states[at] !== unseen) return false;
    block.states[at] = unchanged;
    block.places ??= new Uint32Array(3 * recordsPerBlock);
    block.places[3 * at] = line;
    block.places[3 * at + 1] = lastLine;
    block.places[3 * at + 2] = row;
    return true;
  }

  /**
   * Marks the last record as staged.
   * @param isClean - whether the record has no issues
   * @returns the place of an earlier unchanged record of this sku, which must be staged too
   */
  markStaged(sku: string, isClean: boolean): RecordPlace | undefined {
    this.hasChanges = true;
    readWords(hash('sha256', sku, 'binary'), this.skuDigest);
    const slot = this.findOrAddSku();
    if (slot === -1) return undefined;
    const block = this.block(slot);
    const at = slot % recordsPerBlock;
    const wasUnchanged = block.states[at] === unchanged;
    this.hasRepeatedSku ||= block.states[at] !== unseen;
    block.states[at] = staged;
    block.changed = true;
    if (isClean) block.records.set(this.digest, at * wordsPerDigest);
    else block.records.fill(none, at * wordsPerDigest, (at + 1) * wordsPerDigest);
    this.nextSlot = slot + 1;
    if (!wasUnchanged) return undefined;
    const places = block.places!;
    return { line: places[3 * at]!, lastLine: places[3 * at + 1]!, row: places[3 * at + 2]! };
  }

  /** Drops the digest of a sku, so that its next record is staged. */
  forget(sku: string): void {
    this.hasChanges = true;
    readWords(hash('sha256', sku, 'binary'), this.skuDigest);
    const slot = this.findSku();
    if (slot === -1) return;
    const block = this.block(slot);
    const at = slot % recordsPerBlock;
    block.records.fill(none, at * wordsPerDigest, (at + 1) * wordsPerDigest);
    block.changed = true;
  }

  /** Lists the blocks to be stored again. */
  *changedBlocks(): Generator<DigestBlock & { number: number }> {
    for (const [number, { records, skus, changed }] of this.blocks.entries()) {
      if (!changed) continue;
      const bytes = Math.min(this.count - number * recordsPerBlock, recordsPerBlock) * digestBytes;
      yield {
        number,
        records: bytesOf(records).subarray(0, bytes),
        skus: bytesOf(skus).subarray(0, bytes),
      };
    }
  }

  get blockCount(): number {
    return this.blocks.length;
  }

  /** Returns its memory to the budget. */
  release(): void {
    this.budget.release(this.blocks.length);
    this.blocks.length = 0;
  }

  private block(slot: number): Block {
    return this.blocks[Math.floor(slot / recordsPerBlock)]!;
  }

  private newBlock(): Block | undefined {
    if (!this.budget.reserve()) return undefined;
    const block: Block = {
      records: new Int32Array(recordsPerBlock * wordsPerDigest),
      skus: new Int32Array(recordsPerBlock * wordsPerDigest),
      states: new Uint8Array(recordsPerBlock),
      places: undefined,
      changed: false,
    };
    this.blocks.push(block);
    return block;
  }

  /** Computes `digest`, which depends on the record and the context. */
  private computeDigest(record: Buffer): void {
    const { digest, context } = this;
    readWords(hash('sha256', record, 'binary'), digest);
    for (let word = 0; word < wordsPerDigest; word++) digest[word]! ^= context[word]!;
  }

  /** Finds the slot of the record in `digest`; -1 when there is none. */
  private findRecord(): number {
    const { digest, nextSlot, count } = this;
    const { records } = (nextSlot < count && this.block(nextSlot)) || {};
    if (records && isAt(records, nextSlot % recordsPerBlock, digest)) return nextSlot;
    if (!this.byRecord) {
      this.byRecord = new DigestIndex((slot) => this.block(slot).records, count);
      for (let slot = 0; slot < count; slot++) this.byRecord.add(slot);
    }
    return this.byRecord.find(digest);
  }

  /** Finds or adds the slot of the sku in `skuDigest`; -1 when the memory budget is spent. */
  private findOrAddSku(): number {
    const known = this.findSku();
    if (known !== -1) return known;
    if (this.count === this.blocks.length * recordsPerBlock && !this.newBlock()) return -1;
    const slot = this.count++;
    this.block(slot).skus.set(this.skuDigest, (slot % recordsPerBlock) * wordsPerDigest);
    this.bySku!.add(slot);
    return slot;
  }

  /** Finds the slot of the sku in `skuDigest`; -1 when there is none. */
  private findSku(): number {
    if (!this.bySku) {
      this.bySku = new DigestIndex((slot) => this.block(slot).skus, this.count);
      for (let slot = 0; slot < this.count; slot++) this.bySku.add(slot);
    }
    return this.bySku.find(this.skuDigest);
  }
}

function bytesOf(words: Int32Array): Buffer {
  return Buffer.from(words.buffer, words.byteOffset, words.byteLength);
}

/** Reads the first words of a binary string. */
function readWords(bytes: string, words: Int32Array): void {
  for (let word = 0, at = 0; word < words.length; word++, at += 4) {
    words[word] =
      bytes.charCodeAt(at) |
      (bytes.charCodeAt(at + 1) << 8) |
      (bytes.charCodeAt(at + 2) << 16) |
      (bytes.charCodeAt(at + 3) << 24);
  }
}

/** Tells whether a block has this digest at index `at`. */
function isAt(words: Int32Array, at: number, digest: Int32Array): boolean {
  const first = at * wordsPerDigest;
  for (let word = 0; word < wordsPerDigest; word++) if (words[first + word] !== digest[word]) return false;
  return true;
}

/** Hash table (linear probing) from digests to slots; the digests themselves are in the blocks. */
class DigestIndex {
  /** Slot plus one, or 0. */
  private buckets: Int32Array;
  private count = 0;

  /**
   * @param digestsOf - returns the digests of a slot's block
   * @param expected - approximate number of slots
   */
  constructor(
    private readonly digestsOf: (slot: number) => Int32Array,
    expected: number,
  ) {
    this.buckets = new Int32Array(Math.ceil((expected + recordsPerBlock) / loadFactorMax));
  }

  /** Finds the slot that has this digest now; -1 when there is none. */
  find(digest: Int32Array): number {
    const { buckets } = this;
    for (let bucket = firstBucket(digest[0]!, buckets); ; bucket = (bucket + 1) % buckets.length) {
      const slot = buckets[bucket]! - 1;
      if (slot === -1) return -1;
      if (isAt(this.digestsOf(slot), slot % recordsPerBlock, digest)) return slot;
    }
  }

  /** Adds a slot, unless its digest is empty. */
  add(slot: number): void {
    if (this.firstWord(slot) === none) return;
    if (++this.count > loadFactorMax * this.buckets.length) this.grow();
    this.put(slot);
  }

  private put(slot: number): void {
    const { buckets } = this;
    let bucket = firstBucket(this.firstWord(slot), buckets);
    while (buckets[bucket] !== 0) bucket = (bucket + 1) % buckets.length;
    buckets[bucket] = slot + 1;
  }

  private firstWord(slot: number): number {
    return this.digestsOf(slot)[(slot % recordsPerBlock) * wordsPerDigest]!;
  }

  private grow(): void {
    const old = this.buckets;
    this.buckets = new Int32Array(2 * old.length);
    for (const entry of old) if (entry !== 0) this.put(entry - 1);
  }
}

/** Returns the bucket at which probing starts. */
function firstBucket(word: number, buckets: Int32Array): number {
  return (word >>> 0) % buckets.length;
}
/** Memory budget of several tasks, in blocks. */
export class BlockBudget {
  constructor(private free: number) {}

  /** Reserves a block. @returns whether there was one */
  reserve(): boolean {
    if (this.free === 0) return false;
    this.free--;
    return true;
  }

  release(blocks: number): void {
    this.free += blocks;
  }
}
