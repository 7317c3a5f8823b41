import { createHash } from 'node:crypto';
import type { components } from '../../../generated/openapi';
import { strictFormat } from '../../feed-format/built-in-formats';
import { formatId } from '../../base/ids';
import { StorageError, type ObjectStore } from '../../base/storage/object-store';
import { findRecord, type FoundRecord } from './find-record';
import type { RecordLocation } from './provenance.repository';

type RecordSource = components['schemas']['RecordSource'];

/**
 * Reads the record at a location from object storage.
 * @returns the source; without the record if its file or its place is unknown
 * @throws StorageError
 */
export async function readSource(objectStore: ObjectStore, location: RecordLocation): Promise<RecordSource> {
  const record = await readRecord(objectStore, location);
  const digest = record ? sha256(record.bytes) : location.record_sha256;
  const encoding = record?.encoding ?? location.format?.encoding ?? 'utf-8';
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
    const position = { key, start, sizeBytes, delimiter, sku };
    return await findRecord(objectStore, position, format ?? strictFormat);
  } catch (error) {
    if (error instanceof StorageError && error.missing) return undefined;
    throw error instanceof StorageError
      ? error
      : new StorageError(`The object store could not read ${key}.`, false, error);
  }
}
