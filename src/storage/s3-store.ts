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
import { ConfigError } from '../shared/settings';
import { minimumThroughput, detectStall } from '../shared/stall-detector';
import {
  cleanUpMilliseconds,
  storeErrors,
  watchErrors,
  type ByteRange,
  type ListedObject,
  type ObjectStore,
  type UnfinishedPut,
} from './object-store';

/** An S3 connection that is not open by then is tried again. */
export const s3ConnectMilliseconds = 5_000;

/**
 * A request to S3 fails, and is not repeated, when nothing moves on its connection for this long. A store that is slow
 * does send something: S3 sends white space while it copies an object or joins its parts.
 */
export const s3IdleMilliseconds = 20_000;

/**
 * How long an attempt may take from its start to the head of its answer, however steadily something comes or goes: the
 * largest that is sent is a part of an upload, 5 MiB.
 */
export const s3AnswerMilliseconds = 5 * 60 * 1000;

/** Attempts per S3 request, the first one included. */
export const s3Attempts = 3;

/** Part size of a streaming upload, the smallest that S3 allows; two parts are in flight. */
const s3PartBytes = 5 * 1024 * 1024;

const s3PartsInFlight = 2;

// The SDK would print a notice of several lines at every start on the version of Node that we support.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true';

const { guard, failed } = storeErrors(
  'S3',
  (error) => error instanceof S3ServiceException && error.name === 'NoSuchKey',
);

/** Where the bucket is, and how it is reached. */
export interface S3Config {
  bucket: string;
  endpoint: string | undefined;
  region: string | undefined;
  forcePathStyle: boolean;
  requestChecksumCalculation: S3ClientConfig['requestChecksumCalculation'];
}

/** Objects in a bucket of S3, or of a store that speaks its protocol. Credentials come from the SDK's own chain. */
export class S3Store implements ObjectStore {
  readonly bucket: string;
  readonly client: S3Client;

  constructor(config: S3Config) {
    this.bucket = config.bucket;
    this.client = new S3Client({
      endpoint: config.endpoint,
      region: config.region,
      forcePathStyle: config.forcePathStyle,
      requestChecksumCalculation: config.requestChecksumCalculation,
      maxAttempts: s3Attempts,
      requestHandler: new NodeHttpHandler({
        connectionTimeout: s3ConnectMilliseconds,
        socketTimeout: s3IdleMilliseconds,
        requestTimeout: s3AnswerMilliseconds,
        throwOnRequestTimeout: true,
        // How many there are is bounded elsewhere; one that waited here for a socket would be given up as unreachable.
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
          const isStalled = performance.now() - startedAt >= s3IdleMilliseconds;
          // The SDK repeats what ends with a TimeoutError: the caller would wait three times as long.
          throw (error as Error).name === 'TimeoutError' && isStalled
            ? new Error(`It stalled. ${(error as Error).message}`)
            : error;
        }
      },
      { step: 'deserialize', name: 'failOnStall', priority: 'low' },
    );
  }

  /**
   * A bucket that does not exist, and a region or credentials that are nowhere to be found, are wrong settings. A store
   * that does not answer, or does not show its bucket, may still work.
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
      throw failed('look at its bucket', error);
    }
  }

  /** A bucket that may not be looked at counts as one that cannot be used. */
  async check(signal: AbortSignal): Promise<void> {
    const head = new HeadBucketCommand({ Bucket: this.bucket });
    await guard('look at its bucket', () => this.client.send(head, { abortSignal: signal }));
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
      queueSize: s3PartsInFlight,
      // It would wait for the removal of the parts without a limit.
      leavePartsOnError: true,
    });
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
    }
  }

  async move(fromKey: string, toKey: string): Promise<void> {
    const source = `${this.bucket}/${fromKey.split('/').map(encodeURIComponent).join('/')}`;
    await guard(`move ${fromKey}`, () =>
      this.client.send(new CopyObjectCommand({ Bucket: this.bucket, Key: toKey, CopySource: source })),
    );
    // The object is at its new key, which is what was asked for. `make clean-objects` removes what no row names.
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
      throw failed(
        `read ${key}`,
        new Error(`It gave ${ContentLength} bytes when it was asked for ${Range}.`),
      );
    }
    return watchStore(content);
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

  /** @returns when its latest part was stored, or else `initiated`; undefined when the upload is over */
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
   * Some stores keep the SDK's checksum trailers as content and say nothing; a wrong size shows it. What is not verified
   * does not stay.
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
 * The same content; one that comes byte by byte is given up: whoever reads it has a transaction open, or a client that
 * waits. What the SDK gives may be a stream of its own, which checks the content: bytes are counted as they pass.
 */
function watchStore(content: Readable): Readable {
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
  const endWatch = detectStall(store, minimumThroughput(s3IdleMilliseconds), () =>
    watched.destroy(new Error('It sends its object too slowly.')),
  );
  // Whichever ends early takes the other with it; whoever reads learns of the error.
  pipeline(content, watched, endWatch);
  return watched;
}

const cleanUpSignal = () => AbortSignal.timeout(cleanUpMilliseconds);

function statusOf(error: unknown): number | undefined {
  return error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
}
