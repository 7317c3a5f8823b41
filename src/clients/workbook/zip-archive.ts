import { Inflate } from 'fflate';
import { WorkbookFault } from './workbook-fault';

interface Entry {
  method: number;
  isEncrypted: boolean;
  compressedBytes: number;
  headerAt: number;
}

/** Limits against hostile files. A sheet of 500,000 rows by 10 columns has about 300 MiB. */
export const zipLimits = { entries: 10_000, unpackedBytes: 512 * 1024 ** 2 };

const broken = 'The workbook is damaged or incomplete. Copy or download it again, or save it again in Excel.';

/** Why a part of the workbook cannot be read. */
export const damaged = (): WorkbookFault => new WorkbookFault(broken);

/** The entries of a ZIP archive in memory, read one at a time. No size that the archive declares is trusted. */
export class ZipArchive {
  private readonly entries = new Map<string, Entry>();
  private readonly view: DataView;
  private unpackedBytes = 0;

  /** @throws WorkbookFault for a damaged archive, or one with too many entries */
  constructor(private readonly bytes: Uint8Array) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    try {
      this.readDirectory();
    } catch (error) {
      // A place outside the file.
      throw error instanceof RangeError ? damaged() : error;
    }
  }

  /** Counts unpacked bytes from here, for the limit. */
  beginRequest(): void {
    this.unpackedBytes = 0;
  }

  /** Names of the entries in lower case, with `/` between folders. */
  get names(): IterableIterator<string> {
    return this.entries.keys();
  }

  /** Tells whether there is an entry; the case of letters does not count. */
  has(name: string): boolean {
    return this.entries.has(name.toLowerCase());
  }

  /** Returns the compressed bytes of an entry; 0 if there is none. */
  compressedBytes(name: string): number {
    return this.entries.get(name.toLowerCase())?.compressedBytes ?? 0;
  }

  /**
   * Unpacks an entry piece by piece; none if there is no such entry.
   * @param onRead - is called with the number of compressed bytes of each piece
   * @throws WorkbookFault for a damaged or encrypted entry, or if all that the request unpacked is too large
   */
  *read(name: string, onRead?: (bytes: number) => void): Generator<Uint8Array> {
    const entry = this.entries.get(name.toLowerCase());
    if (!entry) return;
    const data = this.dataOf(entry);
    const unpacked: Uint8Array[] = [];
    const inflate = entry.method === deflated ? new Inflate((piece) => unpacked.push(piece)) : undefined;
    for (let at = 0; at < data.length; at += pieceBytes) {
      const piece = data.subarray(at, at + pieceBytes);
      if (inflate) this.inflate(inflate, piece, at + pieceBytes >= data.length);
      else unpacked.push(piece);
      for (const each of unpacked.splice(0)) {
        this.count(each.length);
        yield each;
      }
      onRead?.(piece.length);
    }
  }

  private inflate(inflate: Inflate, piece: Uint8Array, isLast: boolean): void {
    try {
      inflate.push(piece, isLast);
    } catch {
      throw damaged();
    }
  }

  private count(bytes: number): void {
    this.unpackedBytes += bytes;
    if (this.unpackedBytes > zipLimits.unpackedBytes)
      throw new WorkbookFault(
        'The workbook is too large: unpacked, it has more than 512 MiB. Save the sheet in Excel as CSV UTF-8 (.csv), and use that file.',
      );
  }

  private dataOf({ method, isEncrypted, headerAt, compressedBytes }: Entry): Uint8Array {
    if (isEncrypted) throw new WorkbookFault(hasPassword);
    if (method !== stored && method !== deflated) throw damaged();
    if (headerAt + 30 > this.bytes.length || this.view.getUint32(headerAt, true) !== localSignature)
      throw damaged();
    const start =
      headerAt + 30 + this.view.getUint16(headerAt + 26, true) + this.view.getUint16(headerAt + 28, true);
    if (start + compressedBytes > this.bytes.length) throw damaged();
    return this.bytes.subarray(start, start + compressedBytes);
  }

  private readDirectory(): void {
    const { count, start } = this.findDirectory();
    if (count > zipLimits.entries)
      throw new WorkbookFault(
        `The workbook has more than ${zipLimits.entries} parts. Copy the sheet into a new workbook, and use that one.`,
      );
    let at = start;
    for (let left = count; left > 0; left--) at = this.readEntry(at);
  }

  /** Finds the end of the central directory, behind which a comment may follow. */
  private findDirectory(): { count: number; start: number } {
    const { view } = this;
    const first = Math.max(0, view.byteLength - endBytes - 0xffff);
    for (let at = view.byteLength - endBytes; at >= first; at--) {
      if (view.getUint32(at, true) !== endSignature) continue;
      const locatorAt = at - 20;
      if (locatorAt >= 0 && view.getUint32(locatorAt, true) === locator64Signature) {
        const end64 = this.uint64(locatorAt + 8);
        return { count: this.uint64(end64 + 32), start: this.uint64(end64 + 48) };
      }
      return { count: view.getUint16(at + 10, true), start: view.getUint32(at + 16, true) };
    }
    throw damaged();
  }

  /** @returns where the next entry begins */
  private readEntry(at: number): number {
    const { view } = this;
    if (view.getUint32(at, true) !== directorySignature) throw damaged();
    const nameAt = at + 46;
    const extraAt = nameAt + view.getUint16(at + 28, true);
    const commentAt = extraAt + view.getUint16(at + 30, true);
    const name = new TextDecoder().decode(this.bytes.subarray(nameAt, extraAt));
    this.entries.set(name.replaceAll('\\', '/').replace(/^\//, '').toLowerCase(), {
      isEncrypted: (view.getUint16(at + 8, true) & 1) === 1,
      method: view.getUint16(at + 10, true),
      ...this.placeOf(at, extraAt, commentAt),
    });
    return commentAt + view.getUint16(at + 32, true);
  }

  /** Reads size and place, of ZIP64 from the extra field. */
  private placeOf(at: number, extraAt: number, extraEnd: number) {
    const { view } = this;
    const sizes = [at + 24, at + 20, at + 42].map((each) => view.getUint32(each, true));
    for (let field = extraAt; field + 4 <= extraEnd; field += 4 + view.getUint16(field + 2, true)) {
      if (view.getUint16(field, true) !== 1) continue;
      let next = field + 4;
      for (const [index, size] of sizes.entries()) {
        if (size !== 0xffffffff) continue;
        sizes[index] = this.uint64(next);
        next += 8;
      }
    }
    const [, compressedBytes, headerAt] = sizes;
    return { compressedBytes: compressedBytes!, headerAt: headerAt! };
  }

  private uint64(at: number): number {
    return this.view.getUint32(at, true) + 2 ** 32 * this.view.getUint32(at + 4, true);
  }
}

/** Why an encrypted workbook is not read. */
export const hasPassword =
  'The workbook has a password. Open it in Excel, remove the password (File, Info, Protect Workbook), and save it.';

/** Small, as each byte may become a thousand. */
const pieceBytes = 16 * 1024;

const stored = 0;
const deflated = 8;
const endBytes = 22;
const endSignature = 0x06054b50;
const locator64Signature = 0x07064b50;
const directorySignature = 0x02014b50;
const localSignature = 0x04034b50;
