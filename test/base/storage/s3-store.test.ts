import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import {
  HeadObjectCommand,
  type ListMultipartUploadsCommandOutput,
  type ListObjectsV2CommandOutput,
  type ListPartsCommandOutput,
} from '@aws-sdk/client-s3';
import { type S3Store, s3Limits } from '../../../src/base/storage/s3-store';
import { StorageError, type UnfinishedPut } from '../../../src/base/storage/object-store';
import { afterFile, inChunks, mebibyte, randomContent, sha256 } from '../../support/harness';
import { closedPort, interruptedServer, silentServer, tricklingServer } from '../../support/network';
import { openTestS3Store } from '../../support/s3';

const newKey = () => `test/${randomUUID()}/feed.csv`;
const theError = (error: unknown) => error;
const content = Buffer.from('sku,product_name\n1,a\n');

async function expectAbsent(store: S3Store, key: string): Promise<void> {
  const got = await store.get(key).then(() => 'an object', theError);
  expect(got).toBeInstanceOf(StorageError);
  expect(got).toHaveProperty('missing', true);
}

/** Records the names of the commands that the store sends from then on. */
function recordCommands(store: S3Store): string[] {
  const names: string[] = [];
  store.client.middlewareStack.add(
    (next, context) => (args) => {
      names.push(String(context.commandName));
      return next(args);
    },
    { step: 'initialize' },
  );
  return names;
}

/** Makes `change` alter or fail every command of this name. */
function interfere(
  store: S3Store,
  commandName: string,
  change: (input: { Body?: unknown; CopySource?: string }) => void,
): void {
  store.client.middlewareStack.add(
    (next, context) => (args) => {
      const input: object = args.input;
      if (context.commandName === commandName) change(input);
      return next(args);
    },
    { step: 'initialize' },
  );
}

/** Starts a store that sends unrequested checksums, as some do; a wrong one on request. */
async function checksummingServer(wrong = false): Promise<string> {
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE((crc32(content) ^ (wrong ? 1 : 0)) >>> 0);
  const server = createServer((_request, response) => {
    response.setHeader('x-amz-checksum-crc32', checksum.toString('base64'));
    response.end(content);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterFile(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function readAll(stream: Readable): Promise<Buffer> {
  return Buffer.concat((await stream.toArray()) as Buffer[]);
}

describe('S3Store', () => {
  it('reads an object with a checksum, and aborts the read when the content does not match it', async () => {
    const right = openTestS3Store({ endpoint: await checksummingServer() });
    const wrong = openTestS3Store({ endpoint: await checksummingServer(true) });

    expect(await readAll(await right.get('any'))).toEqual(content);
    await expect(readAll(await wrong.get('any'))).rejects.toThrow(/[Cc]hecksum/);
  });

  it.each([
    [403, undefined, 'The S3 object store could not check its bucket (status 403).'],
    [
      301,
      'eu-west-1',
      'The S3 object store could not check its bucket (status 301; the bucket is in region eu-west-1, see S3_REGION).',
    ],
  ])('tells the status and region of a store that responds with %d', async (status, region, message) => {
    const server = createServer((_request, response) => {
      response.writeHead(status, region ? { 'x-amz-bucket-region': region } : {}).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    afterFile(() => void server.close());
    const store = openTestS3Store({ endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });

    await expect(store.prepare()).rejects.toThrow(message);
    await expect(store.check(new AbortController().signal)).rejects.toThrow(message);
  });

  it('returns its bucket and stores the media type', async () => {
    const store = openTestS3Store();
    const key = newKey();

    await store.put(key, inChunks(content), 'application/vnd.ms-excel');

    const head = await store.client.send(new HeadObjectCommand({ Bucket: store.bucket, Key: key }));
    expect(store.bucket).toBe('partner-feeds');
    expect(head).toMatchObject({ ContentType: 'application/vnd.ms-excel', ContentLength: content.length });
  });

  it.each(['WHEN_REQUIRED', 'WHEN_SUPPORTED'] as const)(
    'stores exactly the sent bytes, or nothing, with checksums %s',
    async (requestChecksumCalculation) => {
      const store = openTestS3Store({ requestChecksumCalculation });
      for (const bytes of [1, 3 * mebibyte, 12 * mebibyte]) {
        const key = newKey();
        const body = randomContent(bytes);

        const failure = await store.put(key, inChunks(body), 'text/csv').catch(theError);

        if (failure) await expectAbsent(store, key);
        else expect(await sha256(await store.get(key))).toBe(await sha256(body));
      }
    },
  );

  describe('a bucket that does not exist', () => {
    it('is a configuration error at startup', async () => {
      await expect(openTestS3Store({ bucket: 'no-such-bucket' }).prepare()).rejects.toThrow(
        /no-such-bucket does not exist/,
      );
    });

    it('is a failure of the store in other calls', async () => {
      const store = openTestS3Store({ bucket: 'no-such-bucket' });

      await expect(store.put(newKey(), inChunks(content), 'text/csv')).rejects.toThrow(StorageError);
    });
  });

  describe('a body that fails', () => {
    const error = new Error('the sender went away');

    it('in the first part sends no request', async () => {
      const store = openTestS3Store();
      const commands = recordCommands(store);

      await expect(store.put(newKey(), inChunks(randomContent(mebibyte), error), 'text/csv')).rejects.toBe(
        error,
      );

      expect(commands).toEqual([]);
    });

    it('after the first part aborts the multipart upload', async () => {
      const store = openTestS3Store();
      const commands = recordCommands(store);

      // The test server responds 405 to AbortMultipartUpload; put still throws the error of the body.
      await expect(
        store.put(newKey(), inChunks(randomContent(12 * mebibyte), error), 'text/csv'),
      ).rejects.toBe(error);

      expect(commands.filter((name) => name === 'UploadPartCommand').length).toBeGreaterThan(0);
      expect(commands.at(-1)).toBe('AbortMultipartUploadCommand');
      expect(commands).not.toContain('CompleteMultipartUploadCommand');
    });
  });

  describe('a failing put leaves no object', () => {
    it.each([
      ['in one piece', 'PutObjectCommand', 1000],
      ['in parts', 'UploadPartCommand', 12 * mebibyte],
    ])('when the store loses bytes of an object sent %s', async (_how, command, bytes) => {
      const store = openTestS3Store();
      const key = newKey();
      interfere(store, command, (input) => (input.Body = (input.Body as Buffer).subarray(1)));

      await expect(store.put(key, inChunks(randomContent(bytes)), 'text/csv')).rejects.toThrow(StorageError);

      await expectAbsent(store, key);
    });

    it('when the stored size cannot be verified', async () => {
      const store = openTestS3Store();
      const key = newKey();
      interfere(store, 'HeadObjectCommand', () => {
        throw new Error('connection reset');
      });

      await expect(store.put(key, inChunks(content), 'text/csv')).rejects.toThrow(StorageError);

      await expectAbsent(store, key);
    });
  });

  it('percent-encodes the source of a move', async () => {
    const store = openTestS3Store();
    const sources: unknown[] = [];
    interfere(store, 'CopyObjectCommand', ({ CopySource }) => sources.push(CopySource));

    await store.move('staging/a b+c%20ü?.csv', newKey()).catch(theError);

    expect(sources).toEqual(['partner-feeds/staging/a%20b%2Bc%2520%C3%BC%3F.csv']);
  });

  const calls: [string, (store: S3Store) => Promise<unknown>][] = [
    ['put', (store) => store.put('a.csv', inChunks(content), 'text/csv')],
    [
      'put of several parts',
      (store) => store.put('a.csv', inChunks(randomContent(12 * mebibyte)), 'text/csv'),
    ],
    ['get', (store) => store.get('a.csv')],
    ['move', (store) => store.move('a.csv', 'b.csv')],
    ['delete', (store) => store.delete('a.csv')],
  ];

  describe('a server that is down', () => {
    it.each(calls)('%s fails soon with the error of an unavailable store', async (_method, call) => {
      const store = openTestS3Store({ endpoint: `http://127.0.0.1:${await closedPort()}` });
      const startedAt = performance.now();

      const error = await call(store).catch(theError);

      expect(error).toBeInstanceOf(StorageError);
      expect(error).toHaveProperty('missing', false);
      expect(performance.now() - startedAt).toBeLessThan(5_000);
    });

    it('at startup is not a configuration error', async () => {
      const store = openTestS3Store({ endpoint: `http://127.0.0.1:${await closedPort()}` });

      await expect(store.prepare()).rejects.toThrow(StorageError);
    });
  });

  describe('with a server that accepts connections and never responds', () => {
    beforeEach(() => {
      // The SDK logs retries to the console.
      jest.spyOn(console, 'warn').mockReturnValue();
      jest.replaceProperty(s3Limits, 'idleMilliseconds', 200);
    });

    it.each(calls)(
      '%s times out',
      async (_method, call) => {
        const store = openTestS3Store({ endpoint: `http://127.0.0.1:${await silentServer()}` });

        const error = await call(store).catch(theError);

        expect(error).toBeInstanceOf(StorageError);
        expect(error).toHaveProperty('missing', false);
      },
      20_000,
    );

    it('an object that stalls midway is an error', async () => {
      const port = await interruptedServer(1000, content, 'fall silent');
      const store = openTestS3Store({ endpoint: `http://127.0.0.1:${port}` });

      await expect(store.get('a.csv').then(sha256)).rejects.toThrow();
    });
  });

  describe('with a server that sends byte by byte', () => {
    it('a response without headers times out', async () => {
      jest.replaceProperty(s3Limits, 'responseMilliseconds', 200);
      const port = await tricklingServer('HTTP/1.1 200 OK\r\nx-slow: '.padEnd(10_000, 'x'));
      const store = openTestS3Store({ endpoint: `http://127.0.0.1:${port}` });

      const error = await store.get('a.csv').catch(theError);

      expect(error).toBeInstanceOf(StorageError);
      expect(error).toHaveProperty('missing', false);
    });

    it('an object is aborted below the minimum throughput', async () => {
      jest.replaceProperty(s3Limits, 'idleMilliseconds', 300);
      const head = 'HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n';
      const store = openTestS3Store({
        endpoint: `http://127.0.0.1:${await tricklingServer('x'.repeat(10_000), head)}`,
      });

      await expect(store.get('a.csv').then(sha256)).rejects.toThrow('The object arrives too slowly.');
    });
  });

  it('an object is not aborted while its reader is slow', async () => {
    const store = openTestS3Store();
    const key = newKey();
    const body = randomContent(2 * mebibyte);
    await store.put(key, inChunks(body), 'text/csv');
    jest.replaceProperty(s3Limits, 'idleMilliseconds', 200);
    const object = await store.get(key);

    await sleep(600);

    expect(await sha256(object)).toBe(await sha256(body));
  });

  it('a truncated object is an error, not a short object', async () => {
    const port = await interruptedServer(1000, content, 'hang up');
    const store = openTestS3Store({ endpoint: `http://127.0.0.1:${port}` });

    await expect(store.get('a.csv').then(sha256)).rejects.toThrow();
  });

  it('a store that returns another range fails', async () => {
    const port = await interruptedServer(1000, content, 'hang up');
    const store = openTestS3Store({ endpoint: `http://127.0.0.1:${port}` });

    const error = await store.get('a.csv', { start: 0, end: 9 }).catch(theError);

    expect(error).toBeInstanceOf(StorageError);
    expect(error).toHaveProperty('missing', false);
  });

  it('has an idle timeout of at most a minute and at most three attempts', async () => {
    expect(s3Limits.idleMilliseconds).toBeLessThanOrEqual(60_000);
    const { client } = openTestS3Store();

    expect(await client.config.maxAttempts()).toBeLessThanOrEqual(3);
  });

  it('lists its objects page by page', async () => {
    const store = openTestS3Store();
    const LastModified = new Date('2026-01-02T03:04:05Z');
    // The test server supports only one page.
    const pages: ListObjectsV2CommandOutput[] = [
      {
        $metadata: {},
        IsTruncated: true,
        NextContinuationToken: 'more',
        Contents: [{ Key: 'a/1', Size: 1, LastModified }],
      },
      { $metadata: {}, Contents: [{ Key: 'a/2', Size: 2, LastModified }] },
      { $metadata: {} },
    ];
    const asked: unknown[] = [];
    store.client.middlewareStack.add(
      () => (args) => {
        asked.push({ ...args.input });
        return Promise.resolve({ output: pages[asked.length - 1]!, response: {} });
      },
      { step: 'initialize' },
    );

    const listed: unknown[] = [];
    for await (const object of store.list('a/')) listed.push(object);

    expect(listed).toEqual([
      { key: 'a/1', bytes: 1, modifiedAt: LastModified },
      { key: 'a/2', bytes: 2, modifiedAt: LastModified },
    ]);
    expect(asked).toEqual([
      { Bucket: store.bucket, Prefix: 'a/' },
      { Bucket: store.bucket, Prefix: 'a/', ContinuationToken: 'more' },
    ]);
  });

  describe('unfinished uploads', () => {
    const begun = new Date('2026-01-02T03:04:05Z');
    const later = new Date('2026-01-03T03:04:05Z');
    const latest = new Date('2026-01-04T03:04:05Z');

    interface Pages {
      uploads: ListMultipartUploadsCommandOutput[];
      parts: (ListPartsCommandOutput | Error)[];
    }

    /** Mocks paged listings, which the test server does not support. @returns the commands sent */
    function respondWith(store: S3Store, { uploads, parts }: Pages): unknown[] {
      const sent: unknown[] = [];
      const respond = (commandName: unknown): object | undefined => {
        if (commandName === 'ListMultipartUploadsCommand') return uploads.shift();
        if (commandName === 'ListPartsCommand') return parts.shift();
        return commandName === 'AbortMultipartUploadCommand' ? { $metadata: {} } : undefined;
      };
      store.client.middlewareStack.add(
        (next, context) => (args) => {
          const output = respond(context.commandName);
          if (!output) return next(args);
          const { Bucket, ...input } = args.input as Record<string, unknown>;
          expect(Bucket).toBe(store.bucket);
          sent.push([context.commandName, JSON.parse(JSON.stringify(input))]);
          if (output instanceof Error) return Promise.reject(output);
          return Promise.resolve({ output: output as never, response: {} });
        },
        { step: 'initialize' },
      );
      return sent;
    }

    async function listUnfinished(store: S3Store): Promise<UnfinishedPut[]> {
      const found: UnfinishedPut[] = [];
      for await (const each of store.listUnfinished()) found.push(each);
      return found;
    }

    const noParts: ListPartsCommandOutput = { $metadata: {}, Parts: [] };
    const gone = Object.assign(new Error('gone'), { name: 'NoSuchUpload' });

    it('are listed page by page, and aborted when they are removed', async () => {
      const store = openTestS3Store();
      const sent = respondWith(store, {
        uploads: [
          {
            $metadata: {},
            IsTruncated: true,
            NextKeyMarker: 'a',
            NextUploadIdMarker: '1',
            Uploads: [{ Key: 'a', UploadId: '1', Initiated: begun }],
          },
          { $metadata: {}, IsTruncated: false, Uploads: [{ Key: 'b', UploadId: '2', Initiated: begun }] },
        ],
        parts: [noParts, noParts],
      });

      const found = await listUnfinished(store);
      await found[1]!.remove();

      expect(found).toMatchObject([
        { name: 'a', modifiedAt: begun },
        { name: 'b', modifiedAt: begun },
      ]);
      expect(sent).toEqual([
        ['ListMultipartUploadsCommand', {}],
        ['ListPartsCommand', { Key: 'a', UploadId: '1' }],
        ['ListMultipartUploadsCommand', { KeyMarker: 'a', UploadIdMarker: '1' }],
        ['ListPartsCommand', { Key: 'b', UploadId: '2' }],
        ['AbortMultipartUploadCommand', { Key: 'b', UploadId: '2' }],
      ]);
    });

    it('have the time of their latest part, on any page of the listing', async () => {
      const store = openTestS3Store();
      const sent = respondWith(store, {
        uploads: [{ $metadata: {}, Uploads: [{ Key: 'a', UploadId: '1', Initiated: begun }] }],
        parts: [
          {
            $metadata: {},
            IsTruncated: true,
            NextPartNumberMarker: '2',
            Parts: [
              { PartNumber: 1, LastModified: latest },
              { PartNumber: 2, LastModified: begun },
            ],
          },
          { $metadata: {}, IsTruncated: false, Parts: [{ PartNumber: 3, LastModified: later }] },
        ],
      });

      expect(await listUnfinished(store)).toMatchObject([{ name: 'a', modifiedAt: latest }]);
      expect(sent.at(-1)).toEqual(['ListPartsCommand', { Key: 'a', UploadId: '1', PartNumberMarker: '2' }]);
    });

    it('are left out when they end during the listing', async () => {
      const store = openTestS3Store();
      const Uploads = ['1', '2'].map((UploadId) => ({ Key: 'a', UploadId, Initiated: begun }));
      respondWith(store, { uploads: [{ $metadata: {}, Uploads }], parts: [gone, noParts] });

      expect(await listUnfinished(store)).toHaveLength(1);
    });

    it('fail to be listed when the store fails to list their parts', async () => {
      const store = openTestS3Store();
      const Uploads = [{ Key: 'a', UploadId: '1', Initiated: begun }];
      respondWith(store, { uploads: [{ $metadata: {}, Uploads }], parts: [new Error('connection reset')] });

      await expect(listUnfinished(store)).rejects.toThrow(StorageError);
    });

    it('that have ended count as aborted', async () => {
      const store = openTestS3Store();
      interfere(store, 'AbortMultipartUploadCommand', () => {
        throw gone;
      });
      const Uploads = [{ Key: newKey(), UploadId: '1', Initiated: begun }];
      respondWith(store, { uploads: [{ $metadata: {}, Uploads }], parts: [noParts] });
      const [upload] = await listUnfinished(store);

      await upload!.remove();
    });
  });

  it('moves an object even if the old key cannot be deleted', async () => {
    const store = openTestS3Store();
    const [from, to] = [newKey(), newKey()];
    await store.put(from, inChunks(content), 'text/csv');
    interfere(store, 'DeleteObjectCommand', () => {
      throw new Error('no');
    });

    await store.move(from, to);

    expect((await (await store.get(to)).toArray()).join('')).toBe(content.toString());
  });
});
