import type { ObjectStore } from './object-store';
import type { S3Config } from './s3-store';

/** Where raw files are kept. */
export interface StoreConfig {
  /** Absent: in the data folder. */
  s3: S3Config | undefined;
  dataDir: string;
}

/** The store that the configuration names. Only that one's code is loaded: the SDK is large. */
export async function openObjectStore(config: StoreConfig): Promise<ObjectStore> {
  if (config.s3) {
    const { S3Store } = await import('./s3-store.js');
    return new S3Store(config.s3);
  }
  const { FileStore } = await import('./file-store.js');
  return new FileStore(config.dataDir);
}
