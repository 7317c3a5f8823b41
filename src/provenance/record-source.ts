import { createHash } from 'node:crypto';
import type { components } from '../../generated/openapi';
import { RecordScanner } from '../feed-format/read/scan-record';
import { recordBytes } from '../feed-format/columns';
import { formatId } from '../shared/ids';
import { StorageError, type ObjectStore } from '../storage/object-store';
import { names, readFormattedRecord, type FoundRecord, type RecordPosition } from './formatted-record';
import type { RecordLocation } from './provenance.repository';

type RecordSource = components['schemas']['RecordSource'];

/** Encoding of every file without a format. */
const fileEncoding = 'utf-8';

/**
 * Reads the record at a location from object storage.
 * @returns the source; without the record if its file or its place is unknown
 * @throws StorageError
 */
export async function readSource(objectStore: ObjectStore, location: RecordLocation): Promise<RecordSource> {
  const record = await readRecord(objectStore, location);
  const digest = record ? sha256(record.bytes) : location.record_sha256;
  const encoding = record?.encoding ?? location.format?.encoding ?? fileEncoding;
  return {
    feed_id: location.feed_id === null ? null : formatId('FD', location.feed_id),
    file_sha256: location.sha256?.toString('hex') ?? null,
    record_sha256: digest?.toString('hex') ?? null,
    record_base64: record?.bytes.toString('base64') ?? null,
    record_text: record?.text ?? null,
    encoding: location.sha256 && encoding,
  };
}

export const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest();

async function readRecord(
  objectStore: ObjectStore,
  location: RecordLocation,
): Promise<FoundRecord | undefined> {
  const { object_key: key, record_offset: start, delimiter, size_bytes: sizeBytes, format, sku } = location;
  if (location.is_file_removed || key === null || start === null || delimiter === null) return undefined;
  if (sizeBytes === null) return undefined;
  try {
    const file = { key, start, sizeBytes, delimiter, sku };
    return await (format
      ? readFormattedRecord(objectStore, file, format)
      : readPlainRecord(objectStore, file));
  } catch (error) {
    if (error instanceof StorageError && error.missing) return undefined;
    throw error instanceof StorageError
      ? error
      : new StorageError(`The object store could not read ${key}.`, false, error);
  }
}

/**
 * Reads a record by one request of at most its maximum size, which ends with the record.
 * @returns undefined if there is none that names the sku: the last release changes products, and leaves their offsets
 */
async function readPlainRecord(
  objectStore: ObjectStore,
  { key, start, sizeBytes, delimiter, sku }: RecordPosition,
): Promise<FoundRecord | undefined> {
  if (start >= sizeBytes) return undefined;
  const end = Math.min(start + recordBytes, sizeBytes) - 1;
  const scanner = new RecordScanner(delimiter, Infinity, false);
  scanner.begin(0);
  let bytes = Buffer.alloc(0);
  for await (const chunk of await objectStore.get(key, { start, end })) {
    bytes = Buffer.concat([bytes, chunk as Buffer]);
    if (scanner.scan(bytes, bytes.length === sizeBytes - start) !== 'complete') continue;
    if (!names(scanner, sku)) return undefined;
    const record = scanner.record();
    return { bytes: record, text: record.toString('utf8'), encoding: fileEncoding };
  }
  // The file is not the one that was loaded.
  return undefined;
}
