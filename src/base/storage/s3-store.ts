import { pipeline, Readable, Transform } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  CopyObjectCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  paginateListObjectsV2,
  paginateListParts,
  S3Client,
  S3ServiceException,
  type S3ClientConfig,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { ConfigError } from '../settings';
import { minimumThroughput, detectStall } from '../concurrency/stall-detector';
import {
  cleanUpMilliseconds,
  storeErrors,
  watchErrors,
  type ByteRange,
  type ListedObject,
  type ObjectStore,
  type UnfinishedPut,
} from './object-store';

/** Limits of a request to S3. */
export const s3Limits = {
  /** Connect timeout; the attempt is retried. */
  connectMilliseconds: 5_000,

  /**
   * Idle timeout of a connection; the request fails without a retry. A slow store sends data nevertheless: S3 sends white
   * space while it copies an object or joins its parts.
   */
  idleMilliseconds: 20_000,

  /** Timeout of an attempt until the response headers, also while data flow. The largest request is a part of 5 MiB. */
  responseMilliseconds: 5 * 60 * 1000,

  /** Maximum attempts per request, the first one included. */
  attempts: 3,
};

/** Part size of a multipart upload, the minimum of S3. */
const s3PartBytes = 5 * 1024 * 1024;

/** Concurrent parts of the only upload. With several uploads, each has one: together they are as fast, in half of the memory. */
const s3PartsInFlight = 2;

// Suppresses the SDK's notice about Node 20 at every start.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true';

const { guard, failed } = storeErrors(
  'S3',
  (error) => error instanceof S3ServiceException && error.name === 'NoSuchKey',
  refusalOf,
);

/** Settings of the bucket. */
export interface S3Config {
  bucket: string;
  endpoint: string | undefined;
  region: string | undefined;
  forcePathStyle: boolean;
  requestChecksumCalculation: S3ClientConfig['requestChecksumCalculation'];
}

/** Stores objects in a bucket of S3 or a compatible store. Credentials come from the SDK's chain. */
export class S3Store implements ObjectStore {
  readonly bucket: string;
  readonly client: S3Client;
  private uploads = 0;

  constructor(config: S3Config) {
    this.bucket = config.bucket;
    this.client = new S3Client({
      endpoint: config.endpoint,
      region: config.region,
      forcePathStyle: config.forcePathStyle,
      requestChecksumCalculation: config.requestChecksumCalculation,
      maxAttempts: s3Limits.attempts,
      requestHandler: new NodeHttpHandler({
        connectionTimeout: s3Limits.connectMilliseconds,
        socketTimeout: s3Limits.idleMilliseconds,
        requestTimeout: s3Limits.responseMilliseconds,
        throwOnRequestTimeout: true,
        // Concurrency is limited elsewhere; a request that waits for a socket would exceed the connect timeout.
        httpAgent: { maxSockets: Infinity },
        httpsAgent: { maxSockets: Infinity },
      }),
    });
    this.client.middlewareStack.add(
      (next) => async (args) => {
        const startedAt = performance.now();
        try {
          return await next(args);
        } catch (error) {
          // Half of the idle timeout is longer than the connect timeout, and timers may fire a millisecond early.
          const isStalled = performance.now() - startedAt >= s3Limits.idleMilliseconds / 2;
          // The SDK retries a TimeoutError: the caller would wait three times as long.
          throw (error as Error).name === 'TimeoutError' && isStalled
            ? new Error(`Connection stalled. ${(error as Error).message}`)
            : error;
        }
      },
      { step: 'deserialize', name: 'failOnStall', priority: 'low' },
    );
  }

  /**
   * Checks the settings: a missing bucket, region or credentials are wrong.
   *
   * An unreachable store, or one that denies `HeadBucket`, is not a wrong setting.
   */
  async prepare(): Promise<void> {
    try {
      await this.client.send(new HeadBucketCommand({ Bucket: this.bucket }));
    } catch (error) {
      const { name, message } = error as Error;
      const wrong = (text: string) => new ConfigError(`Wrong setting ${text}.`, { cause: error });
      if (statusOf(error) === 404) throw wrong(`S3_BUCKET: the bucket ${this.bucket} does not exist`);
      if (message === 'Region is missing') throw wrong('S3_REGION: it must be set, or AWS_REGION');
      if (name === 'CredentialsProviderError') throw wrong('S3_BUCKET: no credentials for it are found');
      throw failed('check its bucket', error);
    }
  }

  /** Checks `HeadBucket`; a denial counts as unavailable. */
  async check(signal: AbortSignal): Promise<void> {
    const head = new HeadBucketCommand({ Bucket: this.bucket });
    await guard('check its bucket', () => this.client.send(head, { abortSignal: signal }));
  }

  async put(key: string, body: AsyncIterable<Buffer>, contentType: string): Promise<void> {
    let bytes = 0;
    let bodyError: unknown;
    const counted = (async function* () {
      for await (const chunk of watchErrors(body, (error) => (bodyError = error))) {
        bytes += chunk.length;
        yield chunk;
      }
    })();
    const upload = new Upload({
      client: this.client,
      params: {
        Bucket: this.bucket,
        Key: key,
        Body: Readable.from(counted, { objectMode: false }),
        ContentType: contentType,
      },
      partSize: s3PartBytes,
      queueSize: this.uploads > 0 ? 1 : s3PartsInFlight,
      // The SDK would remove the parts without a timeout.
      leavePartsOnError: true,
    });
    this.uploads++;
    try {
      try {
        await upload.done();
      } catch (error) {
        if (upload.uploadId) await this.abort(key, upload.uploadId, cleanUpSignal()).catch(() => undefined);
        throw error;
      }
      await this.verify(key, bytes);
    } catch (error) {
      throw bodyError ?? failed(`store ${key}`, error);
    } finally {
      this.uploads--;
    }
  }

  async move(fromKey: string, toKey: string): Promise<void> {
    const source = `${this.bucket}/${fromKey.split('/').map(encodeURIComponent).join('/')}`;
    await guard(`move ${fromKey}`, () =>
      this.client.send(new CopyObjectCommand({ Bucket: this.bucket, Key: toKey, CopySource: source })),
    );
    // The copy has succeeded; `admin objects clean` removes objects without a row.
    await this.delete(fromKey, cleanUpSignal()).catch(() => undefined);
  }

  async get(key: string, range?: ByteRange): Promise<Readable> {
    const Range = range && `bytes=${range.start}-${range.end}`;
    const { Body, ContentLength } = await guard(`read ${key}`, () =>
      this.client.send(new GetObjectCommand({ Bucket: this.bucket, Key: key, Range })),
    );
    const content = Body as Readable;
    if (range && ContentLength !== range.end - range.start + 1) {
      content.destroy();
      throw failed(`read ${key}`, new Error(`Expected ${Range}, got ${ContentLength} bytes.`));
    }
    return withStallDetector(content);
  }

  async delete(key: string, signal?: AbortSignal): Promise<void> {
    const command = new DeleteObjectCommand({ Bucket: this.bucket, Key: key });
    await guard(`delete ${key}`, () => this.client.send(command, { abortSignal: signal }));
  }

  async *list(prefix: string): AsyncGenerator<ListedObject> {
    try {
      const pages = paginateListObjectsV2({ client: this.client }, { Bucket: this.bucket, Prefix: prefix });
      for await (const { Contents = [] } of pages) {
        for (const { Key, Size, LastModified } of Contents)
          yield { key: Key!, bytes: Size!, modifiedAt: LastModified! };
      }
    } catch (error) {
      throw failed('list its objects', error);
    }
  }

  async *listUnfinished(): AsyncGenerator<UnfinishedPut> {
    let next: { KeyMarker?: string; UploadIdMarker?: string } | undefined = {};
    while (next) {
      const page = await guard('list its unfinished uploads', () =>
        this.client.send(new ListMultipartUploadsCommand({ Bucket: this.bucket, ...next })),
      );
      for (const { Key, UploadId, Initiated } of page.Uploads ?? []) {
        const modifiedAt = await this.lastPartStoredAt(Key!, UploadId!, Initiated!);
        if (modifiedAt) yield { name: Key!, modifiedAt, remove: () => this.abort(Key!, UploadId!) };
      }
      const { NextKeyMarker: KeyMarker, NextUploadIdMarker: UploadIdMarker } = page;
      next = page.IsTruncated ? { KeyMarker, UploadIdMarker } : undefined;
    }
  }

  close(): void {
    this.client.destroy();
  }

  /** Returns when the last part was stored, or else `initiated`; undefined when the upload has ended. */
  private async lastPartStoredAt(key: string, uploadId: string, initiated: Date): Promise<Date | undefined> {
    let latest = initiated;
    try {
      const input = { Bucket: this.bucket, Key: key, UploadId: uploadId };
      for await (const { Parts = [] } of paginateListParts({ client: this.client }, input)) {
        for (const { LastModified } of Parts) if (LastModified! > latest) latest = LastModified!;
      }
      return latest;
    } catch (error) {
      if ((error as Error).name === 'NoSuchUpload') return undefined;
      throw failed(`list the parts of ${key}`, error);
    }
  }

  private async abort(key: string, uploadId: string, signal?: AbortSignal): Promise<void> {
    const command = new AbortMultipartUploadCommand({ Bucket: this.bucket, Key: key, UploadId: uploadId });
    try {
      await this.client.send(command, { abortSignal: signal });
    } catch (error) {
      if ((error as Error).name !== 'NoSuchUpload') throw failed(`abort the upload of ${key}`, error);
    }
  }

  /**
   * Verifies the size of a stored object, and deletes it if it is wrong.
   *
   * Some stores silently store the SDK's checksum trailers as content.
   */
  private async verify(key: string, bytes: number): Promise<void> {
    try {
      const head = new HeadObjectCommand({ Bucket: this.bucket, Key: key });
      const { ContentLength } = await this.client.send(head);
      if (ContentLength === bytes) return;
      throw new Error(
        `${bytes} bytes were sent and ${ContentLength} stored; S3_REQUEST_CHECKSUM_CALCULATION=WHEN_REQUIRED may help.`,
      );
    } catch (error) {
      await this.delete(key, cleanUpSignal()).catch(() => undefined);
      throw error;
    }
  }
}

/**
 * Destroys a download that is slower than the minimum throughput: its reader holds a transaction or a client.
 *
 * Counts bytes in a `Transform`, because the SDK may return a stream of its own that verifies the content.
 */
function withStallDetector(content: Readable): Readable {
  let bytes = 0;
  const watched = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      done(null, chunk);
    },
  });
  const store = {
    bytes: () => bytes,
    isAwaited: () => watched.readableLength === 0,
    isGone: () => watched.destroyed,
  };
  const endWatch = detectStall(store, minimumThroughput(s3Limits.idleMilliseconds), () =>
    watched.destroy(new Error('The object arrives too slowly.')),
  );
  // Destroys each stream when the other fails; the reader gets the error.
  pipeline(content, watched, endWatch);
  return watched;
}

const cleanUpSignal = () => AbortSignal.timeout(cleanUpMilliseconds);

/** What a store says that refuses every request: its status, and the region of the bucket, if it is another one. */
function refusalOf(error: unknown): string | undefined {
  const status = statusOf(error);
  if (status === undefined || ![301, 307, 400, 401, 403].includes(status)) return undefined;
  const region = (error as S3ServiceException).$response?.headers['x-amz-bucket-region'];
  return `status ${status}${region ? `; the bucket is in region ${region}, see S3_REGION` : ''}`;
}

function statusOf(error: unknown): number | undefined {
  return error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
}
