import S3rver from 's3rver';
import { type S3Config, S3Store } from '../../src/base/storage/s3-store';
import { afterFile } from './harness';
import { shared } from './databases';
import { createServer, request as sendRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { CreateBucketCommand } from '@aws-sdk/client-s3';

/** An S3 server on this machine, with one bucket. */
export interface S3Server {
  endpoint: string;
  bucket: string;
  accessKeyId: string;
  secretAccessKey: string;
  stop(): Promise<void>;
}

const bucket = 'partner-feeds';
const account = 'S3RVER';

/** Starts the server; its objects are below `folder`. */
export async function startS3Server(folder: string): Promise<S3Server> {
  const server = new S3rver({
    address: '127.0.0.1',
    port: 0,
    directory: folder,
    silent: true,
    resetOnClose: true,
    configureBuckets: [{ name: bucket, configs: [] }],
  });
  const { port } = await server.run();
  return {
    endpoint: `http://127.0.0.1:${port}`,
    bucket,
    accessKeyId: account,
    secretAccessKey: account,
    stop: () => server.close(),
  };
}

/** Opens a store, by default in the bucket that all tests share. It is closed after the file. */
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

export interface S3Request {
  method: string;
  url: string;
}

/**
 * The fate of a request. It passes; it is rejected with a status; the connection is cut before the store receives it (`hang up`),
 * after the store has executed it (`lose answer`), or after half of its body or of the response's (`cut midway`); it is held
 * there forever (`hold midway`), or at its start until a promise settles; or its bytes, and the bytes of the response, are slow.
 */
export type S3Fate =
  'pass' | 'hang up' | 'lose answer' | 'cut midway' | 'hold midway' | 'slow' | { status: number };

const slowChunkBytes = 256;
const slowChunkMilliseconds = 2;

/** A proxy before the S3 test server that makes requests fail, and adds what it lacks: to list and abort multipart uploads. */
export class S3Front {
  /** Decides on every request; a promise holds the request. */
  onRequest: (request: S3Request) => S3Fate | Promise<S3Fate> = () => 'pass';
  readonly endpoint: string;
  /** Multipart uploads that are neither complete nor aborted, by number. `written`: the time of their latest part. */
  readonly unfinished = new Map<string, { key: string; initiated: Date; written?: Date }>();

  private constructor(
    port: number,
    readonly bucket: string,
  ) {
    this.endpoint = `http://127.0.0.1:${port}`;
  }

  /** Opens it, with a bucket of its own. It is closed after the file. */
  static async open(): Promise<S3Front> {
    const server = createServer((request, response) => {
      front.serve(request, response).catch(() => response.destroy());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    afterFile(async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    const front = new S3Front((server.address() as AddressInfo).port, `bucket-${randomUUID()}`);
    await front.store().client.send(new CreateBucketCommand({ Bucket: front.bucket }));
    return front;
  }

  /** Opens a store that uses it. It is closed after the file. */
  store(): S3Store {
    return openTestS3Store({ endpoint: this.endpoint, bucket: this.bucket });
  }

  /** The settings of a service that uses it. */
  get env(): Record<string, string> {
    return { S3_BUCKET: this.bucket, S3_ENDPOINT: this.endpoint };
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => undefined);
    const fate = await this.onRequest({ method: request.method!, url: request.url! });
    if (fate === 'hang up') return void request.socket.destroy();
    if (typeof fate === 'object') {
      // The connection of an unread body is closed.
      request.resume();
      response.writeHead(fate.status, { 'content-type': 'application/xml' });
      return void response.end('<Error><Code>Refused</Code><Message>by the test</Message></Error>');
    }
    if (this.answersItself(request, response)) return;
    await this.forward(request, response, fate);
  }

  private async forward(request: IncomingMessage, response: ServerResponse, fate: S3Fate): Promise<void> {
    const { method, url, headers, socket } = request;
    const { hostname, port } = new URL(shared().s3Endpoint);
    const onward = sendRequest({ hostname, port, method, path: url, headers, agent: false });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    const answered = new Promise<IncomingMessage>((resolve) => onward.on('response', resolve));
    const isRead = method === 'GET';
    const through = async (source: IncomingMessage, write: (part: Buffer) => void): Promise<boolean> => {
      const half = Number(source.headers['content-length'] ?? 0) / 2;
      let bytes = 0;
      for await (const part of source as AsyncIterable<Buffer>) {
        const isAmid = (source === request) !== isRead;
        if (isAmid && (fate === 'cut midway' || fate === 'hold midway') && bytes + part.length > half) {
          write(part.subarray(0, Math.max(half - bytes, 1)));
          if (fate === 'hold midway') await new Promise((resolve) => response.on('close', resolve));
          return false;
        }
        bytes += part.length;
        await this.pace(part, write, fate);
      }
      return true;
    };
    const stopped = () => fate === 'cut midway' && setImmediate(() => socket.destroy());
    if (!(await through(request, (part) => onward.write(part)))) return void stopped();
    onward.end();
    const answer = await answered;
    if (fate === 'lose answer') {
      await answer.toArray();
      this.note(request, '');
      return void socket.destroy();
    }
    response.writeHead(answer.statusCode!, answer.headers);
    let text = '';
    const write = (part: Buffer) => {
      if (url!.includes('uploads')) text += part.toString();
      response.write(part);
    };
    if (!(await through(answer, write))) return void stopped();
    this.note(request, text);
    response.end();
  }

  private async pace(part: Buffer, write: (part: Buffer) => void, fate: S3Fate): Promise<void> {
    if (fate !== 'slow') return write(part);
    for (let start = 0; start < part.length; start += slowChunkBytes) {
      write(part.subarray(start, start + slowChunkBytes));
      await sleep(slowChunkMilliseconds);
    }
  }

  private note({ method, url }: IncomingMessage, answer: string): void {
    const { pathname, searchParams } = new URL(url!, this.endpoint);
    const begun = /<UploadId>([^<]+)</.exec(answer)?.[1];
    if (method === 'POST' && searchParams.has('uploads') && begun) {
      const key = decodeURIComponent(pathname.slice(this.bucket.length + 2));
      this.unfinished.set(begun, { key, initiated: new Date() });
    }
    const upload = searchParams.get('uploadId');
    if (method === 'POST' && upload) this.unfinished.delete(upload);
    const written = method === 'PUT' && this.unfinished.get(upload ?? '');
    if (written) written.written = new Date();
  }

  /** Handles requests that the S3 server lacks. @returns whether it was one of them */
  private answersItself({ method, url }: IncomingMessage, response: ServerResponse): boolean {
    const { pathname, searchParams } = new URL(url!, this.endpoint);
    const uploadId = searchParams.get('uploadId');
    if (method === 'DELETE' && uploadId) {
      this.unfinished.delete(uploadId);
      response.writeHead(204).end();
      return true;
    }
    if (method === 'GET' && uploadId) {
      const upload = this.unfinished.get(uploadId);
      response.writeHead(upload ? 200 : 404, { 'content-type': 'application/xml' });
      const part =
        upload?.written && `<Part><LastModified>${upload.written.toISOString()}</LastModified></Part>`;
      const list = `<ListPartsResult><IsTruncated>false</IsTruncated>${part ?? ''}</ListPartsResult>`;
      response.end(upload ? list : '<Error><Code>NoSuchUpload</Code></Error>');
      return true;
    }
    if (method !== 'GET' || pathname.replace(/\/$/, '') !== `/${this.bucket}` || !searchParams.has('uploads'))
      return false;
    const uploads = [...this.unfinished].map(
      ([id, { key, initiated }]) =>
        `<Upload><Key>${key}</Key><UploadId>${id}</UploadId><Initiated>${initiated.toISOString()}</Initiated></Upload>`,
    );
    const list = `<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>${uploads.join('')}</ListMultipartUploadsResult>`;
    response.writeHead(200, { 'content-type': 'application/xml' }).end(list);
    return true;
  }
}
