import { randomUUID } from 'node:crypto';
import { FileStore } from '../../../src/base/storage/file-store';
import { StorageError, type ByteRange, type ObjectStore } from '../../../src/base/storage/object-store';
import { inChunks, mebibyte, randomContent, sha256, createTestFolder } from '../../support/harness';
import { openTestS3Store } from '../../support/s3';

const openers: [string, () => ObjectStore][] = [
  ['FileStore', () => new FileStore(createTestFolder())],
  ['S3Store', openTestS3Store],
];

const theError = (error: unknown) => error;

describe.each(openers)('%s', (_name, open) => {
  let store: ObjectStore;
  beforeAll(async () => {
    store = open();
    await store.prepare();
  });

  /** A key that no other test uses. */
  const newKey = (fileName = 'feed.csv') => `test/${randomUUID()}/${fileName}`;
  const put = (key: string, content: Buffer) => store.put(key, inChunks(content), 'text/csv');
  const read = async (key: string, range?: ByteRange) =>
    Buffer.concat(await (await store.get(key, range)).toArray());
  const expectAbsent = async (key: string) => {
    const got = await store.get(key).then(() => 'an object', theError);
    expect(got).toBeInstanceOf(StorageError);
    expect(got).toHaveProperty('missing', true);
  };

  it('check succeeds on an available store', async () => {
    await expect(store.check(AbortSignal.timeout(5_000))).resolves.toBeUndefined();
  });

  describe('put and get', () => {
    it.each([
      ['nothing', 0],
      ['1 byte', 1],
      ['less than a part', 100_000],
      ['a part less one byte', 5 * mebibyte - 1],
      ['exactly one part', 5 * mebibyte],
      ['a part and one byte', 5 * mebibyte + 1],
      ['exactly two parts', 10 * mebibyte],
      ['several parts', 12 * mebibyte],
    ])('return the same bytes for %s', async (_size, bytes) => {
      const key = newKey();
      const content = randomContent(bytes);

      await put(key, content);

      expect(await sha256(await store.get(key))).toBe(await sha256(content));
    });

    it('put replaces a longer or shorter object', async () => {
      const key = newKey();
      for (const text of ['first', 'second and longer', 'third']) {
        await put(key, Buffer.from(text));
        expect((await read(key)).toString()).toBe(text);
      }
    });

    it('get distinguishes a missing object from a failing store', async () => {
      await expectAbsent(newKey());
    });

    it.each<[string, ByteRange]>([
      ['the last byte', { start: mebibyte - 1, end: mebibyte - 1 }],
      ['the beginning', { start: 0, end: 99_999 }],
      ['some in the middle', { start: 300_000, end: 700_000 }],
      ['the end', { start: 1, end: mebibyte - 1 }],
      ['all of them', { start: 0, end: mebibyte - 1 }],
    ])('get returns a range of the bytes: %s', async (_which, range) => {
      const key = newKey();
      const content = randomContent(mebibyte);
      await put(key, content);

      expect((await read(key, range)).equals(content.subarray(range.start, range.end + 1))).toBe(true);
    });

    it('get of a range distinguishes a missing object from a failing store', async () => {
      const got = await store.get(newKey(), { start: 0, end: 9 }).catch(theError);

      expect(got).toBeInstanceOf(StorageError);
      expect(got).toHaveProperty('missing', true);
    });

    it('an object can be read concurrently', async () => {
      const key = newKey();
      const content = randomContent(mebibyte);
      await put(key, content);

      const readings = await Promise.all([1, 2, 3].map(() => read(key)));

      for (const reading of readings) expect(reading.equals(content)).toBe(true);
    });
  });

  describe('put of a body that throws', () => {
    it.each([
      ['at the start', 0],
      ['in the middle of the first part', mebibyte],
      ['at the end of the first part', 5 * mebibyte],
      ['after several parts', 12 * mebibyte],
    ])('%s stores nothing and throws the same error', async (_when, bytes) => {
      const key = newKey();
      const error = new Error('the sender went away');

      await expect(store.put(key, inChunks(randomContent(bytes), error), 'text/csv')).rejects.toBe(error);

      await expectAbsent(key);
    });

    it('leaves the key usable', async () => {
      const key = newKey();
      const broken = inChunks(randomContent(6 * mebibyte), new Error('the sender went away'));
      await store.put(key, broken, 'text/csv').catch(() => undefined);

      await put(key, Buffer.from('complete'));

      expect((await read(key)).toString()).toBe('complete');
    });
  });

  it('an object is invisible until it is complete', async () => {
    const key = newKey();
    let seenWhileSending: unknown;
    async function* body() {
      yield* inChunks(randomContent(6 * mebibyte));
      seenWhileSending = await store.get(key).catch(theError);
    }

    await store.put(key, body(), 'text/csv');

    expect(seenWhileSending).toBeInstanceOf(StorageError);
    expect((await read(key)).length).toBe(6 * mebibyte);
  });

  describe('move', () => {
    it('renames the object', async () => {
      const [from, to] = [newKey(), newKey()];
      const content = randomContent(6 * mebibyte);
      await put(from, content);

      await store.move(from, to);

      expect(await sha256(await store.get(to))).toBe(await sha256(content));
      await expectAbsent(from);
    });

    it('replaces the object at the new key', async () => {
      const [from, to] = [newKey(), newKey()];
      await put(from, Buffer.from('new'));
      await put(to, Buffer.from('old, and longer'));

      await store.move(from, to);

      expect((await read(to)).toString()).toBe('new');
    });

    it('of a missing object fails and preserves the object at the new key', async () => {
      const to = newKey();
      await put(to, Buffer.from('still here'));

      const error = await store.move(newKey(), to).catch(theError);

      expect(error).toBeInstanceOf(StorageError);
      expect(error).toHaveProperty('missing', true);
      expect((await read(to)).toString()).toBe('still here');
    });
  });

  describe('delete', () => {
    it('removes the object and is idempotent', async () => {
      const key = newKey();
      await put(key, Buffer.from('gone soon'));

      await store.delete(key);
      await store.delete(key);

      await expectAbsent(key);
    });

    it('does not delete other objects', async () => {
      const folder = newKey('');
      await put(`${folder}a.csv`, Buffer.from('a'));
      await put(`${folder}a.csv.bak`, Buffer.from('b'));

      await store.delete(`${folder}a.csv`);

      expect((await read(`${folder}a.csv.bak`)).toString()).toBe('b');
    });
  });

  describe('keys', () => {
    it.each([
      'with spaces in it.csv',
      ' space at both ends ',
      'plus+and+more.csv',
      '100%.csv',
      '100%25%2F.csv',
      'Größen und Preise.csv',
      'Gro\u0308ßen.csv',
      '商品🙂.csv',
      'a?b=c&d#e.csv',
      `it's (really)!*~$@:;,=.csv`,
      '.hidden',
      `${'ü'.repeat(98)}.csv`,
    ])('%j can be put, got, deleted and moved to', async (fileName) => {
      const [key, waiting] = [newKey(fileName), newKey()];

      await put(key, Buffer.from(fileName));
      expect((await read(key)).toString()).toBe(fileName);
      await store.delete(key);
      await expectAbsent(key);
      await put(waiting, Buffer.from('moved'));
      await store.move(waiting, key);
      expect((await read(key)).toString()).toBe('moved');
    });

    it('that are equal after URL decoding are different', async () => {
      const folder = newKey('');
      const names = ['a b.csv', 'a+b.csv', 'a%20b.csv', 'a%2520b.csv', 'A b.csv', 'a%2Bb.csv'];
      for (const name of names) await put(folder + name, Buffer.from(name));

      for (const name of names) expect((await read(folder + name)).toString()).toBe(name);
    });
  });

  describe('list', () => {
    const listed = async (prefix: string) => {
      const objects: [string, number][] = [];
      for await (const { key, bytes } of store.list(prefix)) objects.push([key, bytes]);
      return objects.sort();
    };

    it('lists every object with the prefix, with its size', async () => {
      const folder = newKey('');
      const keys = ['a.csv', 'ab.csv', 'b.csv', 'deeper/a b+c%20.csv', 'deeper/still/ü.csv'].map(
        (name) => folder + name,
      );
      for (const [i, key] of keys.entries()) await put(key, randomContent(i));

      expect(await listed(folder)).toEqual(keys.map((key, i) => [key, i]));
      expect(await listed(`${folder}a`)).toEqual(keys.slice(0, 2).map((key, i) => [key, i]));
      expect(await listed(`${folder}deeper/`)).toEqual(keys.slice(3).map((key, i) => [key, i + 3]));
    });

    it('returns the time at which an object was stored', async () => {
      const key = newKey();
      const earliest = Date.now() - 2_000;
      await put(key, Buffer.from('a'));

      for await (const { modifiedAt } of store.list(key)) {
        expect(modifiedAt.getTime()).toBeGreaterThan(earliest);
        expect(modifiedAt.getTime()).toBeLessThan(Date.now() + 2_000);
      }
    });

    it('lists neither unknown prefixes nor incomplete objects', async () => {
      const folder = newKey('');
      let seenWhileSending: unknown;
      async function* body() {
        yield* inChunks(randomContent(6 * mebibyte));
        seenWhileSending = await listed(folder);
      }

      expect(await listed(folder)).toEqual([]);
      await store.put(`${folder}a.csv`, body(), 'text/csv');

      expect(seenWhileSending).toEqual([]);
    });
  });

  describe('concurrently', () => {
    it('objects are independent', async () => {
      const contents = [1, 70_000, 6 * mebibyte, 100, 11 * mebibyte, 0].map(randomContent);
      const keys = contents.map(() => newKey());

      await Promise.all(keys.map((key, i) => put(key, contents[i]!)));

      for (const [i, key] of keys.entries()) {
        expect(await sha256(await store.get(key))).toBe(await sha256(contents[i]!));
      }
    });

    it('a failing put does not affect others', async () => {
      const [good, bad] = [newKey(), newKey()];
      const content = randomContent(12 * mebibyte);
      const error = new Error('the sender went away');

      const [ended, failed] = await Promise.allSettled([
        put(good, content),
        store.put(bad, inChunks(randomContent(6 * mebibyte), error), 'text/csv'),
      ]);

      expect(ended.status).toBe('fulfilled');
      expect(failed).toEqual({ status: 'rejected', reason: error });
      expect(await sha256(await store.get(good))).toBe(await sha256(content));
    });
  });
});
