import fc from 'fast-check';
import { constants, gunzipSync, gzipSync } from 'node:zlib';
import { MalformedGzip, unpack } from '../../../../src/feed-format/read/unpack';
import { chunksOf } from '../../../support/read-by-format';

async function* sourceOf(chunks: Buffer[]): AsyncGenerator<Buffer> {
  for (const chunk of chunks) {
    await Promise.resolve();
    yield chunk;
  }
}

async function unpackAll(bytes: Buffer, sizes: number[] = [1 << 16], isNamedGzip?: boolean): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of unpack(sourceOf(chunksOf(bytes, ...sizes)), isNamedGzip)) parts.push(part);
  return Buffer.concat(parts);
}

const feed = Buffer.from('sku,product_name\nA-1,Lamp\n'.repeat(50));
const packed = gzipSync(feed);

test('unpacks a gzip file, in chunks of any size', async () => {
  for (const size of [1, 2, 7, 1000]) expect((await unpackAll(packed, [size], true)).equals(feed)).toBe(true);
});

test('passes another file through, also one that is shorter than the magic bytes', async () => {
  expect(await unpackAll(feed, [3], false)).toEqual(feed);
  expect(await unpackAll(Buffer.from('a'))).toEqual(Buffer.from('a'));
  expect(await unpackAll(Buffer.alloc(0), [1], true)).toEqual(Buffer.alloc(0));
});

test('several members are one file, empty ones too', async () => {
  const members = [feed, Buffer.alloc(0), Buffer.from('B-1,Tent\n'), Buffer.alloc(0)];
  const file = Buffer.concat(members.map((member) => gzipSync(member)));
  for (const size of [1, 20, 33, 5000]) {
    expect((await unpackAll(file, [size])).equals(Buffer.concat(members))).toBe(true);
  }
});

test('rejects a name without the magic bytes, and the magic bytes without the name', async () => {
  await expect(unpackAll(feed, [100], true)).rejects.toThrow(MalformedGzip);
  await expect(unpackAll(packed, [100], false)).rejects.toThrow(MalformedGzip);
});

test('rejects a file that is truncated anywhere', async () => {
  for (let length = 2; length < packed.length; length++) {
    await expect(unpackAll(packed.subarray(0, length), [64], true)).rejects.toThrow('Malformed gzip file.');
  }
});

test('rejects trailing bytes of any kind, for any chunk boundaries', async () => {
  for (const tail of ['00', '0000000000', '61', '0a', '1f', '1f8b', '1f8b08', 'ff00']) {
    const file = Buffer.concat([packed, Buffer.from(tail, 'hex')]);
    for (const sizes of [[1], [packed.length], [packed.length - 1, 1], [1 << 16]]) {
      await expect(unpackAll(file, sizes)).rejects.toThrow(MalformedGzip);
    }
  }
});

test('rejects a wrong checksum and a wrong length', async () => {
  for (const at of [1, 5]) {
    const broken = Buffer.from(packed);
    broken[broken.length - at]! ^= 1;
    await expect(unpackAll(broken)).rejects.toThrow(MalformedGzip);
  }
});

test('passes an error of the source on unchanged', async () => {
  async function* failing(): AsyncGenerator<Buffer> {
    yield packed.subarray(0, 20);
    await Promise.resolve();
    throw new Error('The client is gone.');
  }
  await expect(async () => {
    for await (const _ of unpack(failing()));
  }).rejects.toThrow('The client is gone.');
});

test('leaves the source open when it fails, so that the rest can be read', async () => {
  const source = sourceOf([Buffer.from('1f8b0800ff', 'hex'), Buffer.alloc(10, 7), Buffer.from('rest')]);
  await expect(async () => {
    for await (const _ of unpack(source));
  }).rejects.toThrow(MalformedGzip);
  const rest: Buffer[] = [];
  for await (const chunk of source) rest.push(chunk);
  expect(rest.length).toBeLessThanOrEqual(2);
});

test('yields a file that unpacks to far more in bounded chunks', async () => {
  const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));
  let largest = 0;
  let total = 0;
  for await (const part of unpack(sourceOf([bomb]))) {
    largest = Math.max(largest, part.length);
    total += part.length;
    if (total > 1024 * 1024) break;
  }
  expect(largest).toBeLessThanOrEqual(64 * 1024);
  expect(total).toBeLessThan(2 * 1024 * 1024);
});

test('agrees with a second implementation on any bytes behind the magic ones', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.oneof(
          fc.constant(packed),
          fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
        ),
        {
          maxLength: 3,
        },
      ),
      fc.integer({ min: 0, max: 400 }),
      fc.integer({ min: 1, max: 300 }),
      async (parts, flip, size) => {
        const file = Buffer.concat([packed, ...parts]);
        if (flip < file.length) file[flip]! ^= 0x40;
        let expected: Buffer | undefined;
        try {
          expected = gunzipSync(file, { finishFlush: constants.Z_FINISH });
        } catch {
          expected = undefined;
        }
        const actual = await unpackAll(file, [size]).catch(() => undefined);
        // The platform ignores zeros after the last member.
        if (actual) expect(expected?.equals(actual) ?? flip < 2).toBe(true);
        else if (expected) expect(parts.length).toBeGreaterThan(0);
      },
    ),
  );
});
