/*
 * A file of its own: the interface must not import the stores, which import it.
 */
import type { ObjectStore } from './object-store';
import type { S3Config } from './s3-store';

/** Configuration of the store. */
export interface StoreConfig {
  /** Absent: local files. */
  s3: S3Config | undefined;
  dataDir: string;
}

/** Opens the configured store. Loads only its code: the AWS SDK is large. */
export async function openObjectStore(config: StoreConfig): Promise<ObjectStore> {
  if (config.s3) {
    const { S3Store } = await import('./s3-store.js');
    return new S3Store(config.s3);
  }
  const { FileStore } = await import('./file-store.js');
  return new FileStore(config.dataDir);
}
