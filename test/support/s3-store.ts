import type { S3Config } from '../../src/storage/s3-store';
import { S3Store } from '../../src/storage/s3-store';
import { afterFile } from './after-file';
import { shared } from './shared';

/** A store in the bucket that all tests share, unless `config` says otherwise. It is closed after the file. */
export function openTestS3Store(config: Partial<S3Config> = {}): S3Store {
  const { s3Bucket, s3Endpoint } = shared();
  const store = new S3Store({
    bucket: s3Bucket,
    endpoint: s3Endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    ...config,
  });
  afterFile(() => store.close());
  return store;
}
