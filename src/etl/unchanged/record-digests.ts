import { hash } from 'node:crypto';
import { digestBytes } from './digest-context';
import type { RecordPlace } from '../row-issues';

/** How many records a block holds: 192 KiB are read and written at once. */
export const recordsPerBlock = 8_192;

/** Records and the skus of their products, in digests at the same places, as they are stored. */
export interface DigestBlock {
  records: Buffer;
  skus: Buffer;
}

/** A digest in memory: numbers of four bytes, which are compared without a call. */
const wordsPerDigest = digestBytes / 4;

/** How a digest begins that is none. One in four billion others begins like that, and is hardly ever found. */
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
interface Block {
  records: Int32Array;
  skus: Int32Array;
  states: Uint8Array;
  /** Line, last line and row of the record that has left its product unchanged; made with the first one. */
  places: Uint32Array | undefined;
  changed: boolean;
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
  /** Made when it is needed first: a feed in the order of the last one needs none. */
  private byRecord: DigestIndex | undefined;
  private bySku: DigestIndex | undefined;
  /** Where the record is thought to be that is looked for next: feeds keep their order. */
  private nextPlace = 0;
  private readonly context: Int32Array;
  /** The digest of the record that was looked for last. */
  private readonly digest = new Int32Array(wordsPerDigest);
  private readonly skuDigest = new Int32Array(wordsPerDigest);
  /** Whether a record has travelled. */
  hasTravelled = false;
  /** Whether one has whose sku was there before; unless there was no room for that. */
  hasRepeatedSku = false;

  /**
   * @param context - see `digestContext`
   */
  constructor(
    context: Buffer,
    private readonly budget: BlockBudget,
  ) {
    this.context = new Int32Array(wordsPerDigest);
    context.copy(bytesOf(this.context));
  }

  /** Takes in a block as it was stored. @returns false when there is no room for it */
  add({ records, skus }: DigestBlock): boolean {
    const block = this.newBlock();
    if (!block) return false;
    records.copy(bytesOf(block.records));
    skus.copy(bytesOf(block.skus));
    this.count += records.length / digestBytes;
    return true;
  }

  /**
   * Whether the record leaves its product as it is, and is the first in this feed that says anything of it; then its place
   * in the file is noted. If not, it has to travel: `travels` is to be called, unless it cannot be loaded.
   */
  isUnchanged(record: Buffer, { line, lastLine, row }: RecordPlace): boolean {
    this.digestOf(record);
    const place = this.placeOfRecord();
    if (place === -1) return false;
    this.nextPlace = place + 1;
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
    readWords(hash('sha256', sku, 'binary'), this.skuDigest);
    const place = this.placeOfSku();
    if (place === -1) return undefined;
    const block = this.block(place);
    const at = place % recordsPerBlock;
    const wasUnchanged = block.states[at] === unchanged;
    this.hasRepeatedSku ||= block.states[at] !== untouched;
    block.states[at] = travelling;
    block.changed = true;
    if (isClean) block.records.set(this.digest, at * wordsPerDigest);
    else block.records.fill(none, at * wordsPerDigest, (at + 1) * wordsPerDigest);
    this.nextPlace = place + 1;
    if (!wasUnchanged) return undefined;
    const places = block.places!;
    return { line: places[3 * at]!, lastLine: places[3 * at + 1]!, row: places[3 * at + 2]! };
  }

  /** The blocks that are not as they were stored, with their numbers. */
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
      records: new Int32Array(recordsPerBlock * wordsPerDigest),
      skus: new Int32Array(recordsPerBlock * wordsPerDigest),
      states: new Uint8Array(recordsPerBlock),
      places: undefined,
      changed: false,
    };
    this.blocks.push(block);
    return block;
  }

  /** Leaves the digest of the record in `digest`. Another context makes another one of every record. */
  private digestOf(record: Buffer): void {
    const { digest, context } = this;
    readWords(hash('sha256', record, 'binary'), digest);
    for (let word = 0; word < wordsPerDigest; word++) digest[word]! ^= context[word]!;
  }

  /** The place of the record in `digest`; -1 when there is none. */
  private placeOfRecord(): number {
    const { digest, nextPlace, count } = this;
    const { records } = (nextPlace < count && this.block(nextPlace)) || {};
    if (records && isAt(records, nextPlace % recordsPerBlock, digest)) return nextPlace;
    if (!this.byRecord) {
      this.byRecord = new DigestIndex((place) => this.block(place).records, count);
      for (let place = 0; place < count; place++) this.byRecord.add(place);
    }
    return this.byRecord.find(digest);
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
    this.block(place).skus.set(this.skuDigest, (place % recordsPerBlock) * wordsPerDigest);
    this.bySku.add(place);
    return place;
  }
}

function bytesOf(words: Int32Array): Buffer {
  return Buffer.from(words.buffer, words.byteOffset, words.byteLength);
}

/** Reads the beginning of a text of bytes. */
function readWords(bytes: string, words: Int32Array): void {
  for (let word = 0, at = 0; word < words.length; word++, at += 4) {
    words[word] =
      bytes.charCodeAt(at) |
      (bytes.charCodeAt(at + 1) << 8) |
      (bytes.charCodeAt(at + 2) << 16) |
      (bytes.charCodeAt(at + 3) << 24);
  }
}

/** Whether this digest stands at a place of a block. */
function isAt(words: Int32Array, at: number, digest: Int32Array): boolean {
  const first = at * wordsPerDigest;
  for (let word = 0; word < wordsPerDigest; word++) if (words[first + word] !== digest[word]) return false;
  return true;
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
    private readonly digestsOf: (place: number) => Int32Array,
    expected: number,
  ) {
    this.slots = new Int32Array(Math.ceil((expected + recordsPerBlock) / fullness));
  }

  /** The place with this digest, also if it was another when the place was added; -1 when there is none. */
  find(digest: Int32Array): number {
    const { slots } = this;
    for (let slot = firstSlot(digest[0]!, slots); ; slot = (slot + 1) % slots.length) {
      const place = slots[slot]! - 1;
      if (place === -1) return -1;
      if (isAt(this.digestsOf(place), place % recordsPerBlock, digest)) return place;
    }
  }

  /** Notes a place, unless its digest is none. */
  add(place: number): void {
    if (this.firstWord(place) === none) return;
    if (++this.count > fullness * this.slots.length) this.grow();
    this.put(place);
  }

  private put(place: number): void {
    const { slots } = this;
    let slot = firstSlot(this.firstWord(place), slots);
    while (slots[slot] !== 0) slot = (slot + 1) % slots.length;
    slots[slot] = place + 1;
  }

  private firstWord(place: number): number {
    return this.digestsOf(place)[(place % recordsPerBlock) * wordsPerDigest]!;
  }

  private grow(): void {
    const places = this.slots;
    this.slots = new Int32Array(2 * places.length);
    for (const place of places) if (place !== 0) this.put(place - 1);
  }
}

/** Where the search for a digest starts, by its first word. */
function firstSlot(word: number, slots: Int32Array): number {
  return (word >>> 0) % slots.length;
}
/** Counts blocks of memory that the tasks of the ETL thread may have together. */
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
