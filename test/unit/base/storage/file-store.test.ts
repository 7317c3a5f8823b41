import fs, { mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { ConfigError } from '../../../../src/base/settings';
import { FileStore } from '../../../../src/base/storage/file-store';
import { StorageError } from '../../../../src/base/storage/object-store';
import { inChunks, mebibyte, randomContent, sha256, createTestFolder } from '../../../support/harness';

/** Creates a store, and returns its folder of unfinished files. */
async function createStore() {
  const dataDir = createTestFolder();
  const store = new FileStore(dataDir);
  await store.prepare();
  return { dataDir, store, unfinished: join(dataDir, 'objects', 'unfinished') };
}

/** Every file below the folder, by relative path. */
function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}

describe('FileStore', () => {
  it('names its bucket "local" and stores an object as a file below the data folder', async () => {
    const { store, dataDir } = await createStore();

    await store.put('raw/partners/acme/feeds/FD00001/feed.csv', inChunks(Buffer.from('sku')));

    expect(store.bucket).toBe('local');
    expect(filesBelow(dataDir)).toEqual(['objects/local/raw/partners/acme/feeds/FD00001/feed.csv']);
  });

  it('reads objects that an earlier process stored', async () => {
    const { store, dataDir } = await createStore();
    await store.put('a.csv', inChunks(Buffer.from('yesterday')));

    const next = new FileStore(dataDir);
    await next.prepare();

    expect((await (await next.get('a.csv')).toArray()).join('')).toBe('yesterday');
  });

  it('lists the objects of all folders', async () => {
    const { store, dataDir } = await createStore();
    const keys = Array.from({ length: 1_000 }, (_, i) => `${i % 50}/${i % 500}/${i}.csv`).sort();
    for (const key of keys) {
      mkdirSync(dirname(join(dataDir, 'objects/local', key)), { recursive: true });
      writeFileSync(join(dataDir, 'objects/local', key), 'sku');
    }

    const listed: string[] = [];
    for await (const { key } of store.list('')) listed.push(key);

    expect(listed.sort()).toEqual(keys);
  });

  it('lists an unfinished put and removes it on request', async () => {
    const { store, unfinished } = await createStore();
    writeFileSync(join(unfinished, 'left'), 'sku');
    const begun = new Date('2026-01-02T03:04:05Z');
    utimesSync(join(unfinished, 'left'), begun, begun);

    for await (const { modifiedAt, remove } of store.listUnfinished()) {
      expect(modifiedAt).toEqual(begun);
      await remove();
      await remove();
    }

    expect(readdirSync(unfinished)).toEqual([]);
  });

  it('concurrent puts to one key leave one complete object', async () => {
    const { store } = await createStore();
    const contents = [3 * mebibyte, 100, 6 * mebibyte, 70_000].map(randomContent);

    await Promise.all(contents.map((content) => store.put('a.csv', inChunks(content))));

    const known = await Promise.all(contents.map(sha256));
    expect(known).toContain(await sha256(await store.get('a.csv')));
  });

  describe('an unfinished file', () => {
    it.each([
      ['at the start', 0],
      ['later', 3 * mebibyte],
    ])('is removed when the body throws %s', async (_when, bytes) => {
      const { store, dataDir } = await createStore();

      await expect(
        store.put('a.csv', inChunks(randomContent(bytes), new Error('the sender went away'))),
      ).rejects.toThrow();

      expect(filesBelow(dataDir)).toEqual([]);
    });

    it('is removed when the body throws before the file is opened', async () => {
      const { store, dataDir } = await createStore();
      // A busy machine can delay the opening until after the removal, but a test cannot force that.
      const { open } = fs;
      const slowOpen = jest.spyOn(fs, 'open').mockImplementation((...args: unknown[]) => {
        setTimeout(() => Reflect.apply(open, fs, args), 50);
      });

      await expect(
        store.put('a.csv', inChunks(Buffer.alloc(0), new Error('the sender went away'))),
      ).rejects.toThrow();
      await wait(100);

      expect(slowOpen).toHaveBeenCalledTimes(1);
      expect(filesBelow(dataDir)).toEqual([]);
    });

    it('is removed when it cannot be renamed to its key', async () => {
      const { store, unfinished } = await createStore();
      await store.put('taken', inChunks(Buffer.from('a file where the key needs a folder')));

      await expect(store.put('taken/a.csv', inChunks(Buffer.from('sku')))).rejects.toThrow(StorageError);

      expect(readdirSync(unfinished)).toEqual([]);
    });

    it('no longer exists once the put is complete', async () => {
      const { store, unfinished } = await createStore();

      await store.put('a.csv', inChunks(randomContent(mebibyte)));

      expect(readdirSync(unfinished)).toEqual([]);
    });

    it.each([
      ['is removed two days after its last write', 48, []],
      ['remains an hour after its last write', 1, ['left-over']],
    ])('%s', async (_rule, hours, left) => {
      const { store, unfinished } = await createStore();
      const file = join(unfinished, 'left-over');
      writeFileSync(file, 'half');
      const lastWrite = Date.now() / 1000 - hours * 3600;
      utimesSync(file, lastWrite, lastWrite);

      await store.prepare();

      expect(readdirSync(unfinished)).toEqual(left);
    });
  });

  it('does not delete objects of any age during prepare', async () => {
    const { store, dataDir } = await createStore();
    await store.put('a.csv', inChunks(Buffer.from('old')));
    utimesSync(join(dataDir, 'objects', 'local', 'a.csv'), 0, 0);

    await store.prepare();

    expect((await (await store.get('a.csv')).toArray()).join('')).toBe('old');
  });

  describe('with an unusable folder', () => {
    it.each(['objects', 'objects/local', 'objects/unfinished'])(
      'is not prepared when a file is in the place of %s',
      async (path) => {
        const dataDir = createTestFolder();
        mkdirSync(join(dataDir, path, '..'), { recursive: true });
        writeFileSync(join(dataDir, path), '');

        await expect(new FileStore(dataDir).prepare()).rejects.toThrow(ConfigError);
      },
    );

    it.each<[string, (store: FileStore) => Promise<unknown>]>([
      ['put', (store) => store.put('b.csv', inChunks(Buffer.from('sku')))],
      ['get', (store) => store.get('a.csv')],
      ['move', (store) => store.move('a.csv', 'b.csv')],
    ])('%s reports a broken store, not a missing object', async (_method, call) => {
      const { store, dataDir } = await createStore();
      await store.put('a.csv', inChunks(Buffer.from('sku')));
      rmSync(join(dataDir, 'objects'), { recursive: true });
      writeFileSync(join(dataDir, 'objects'), 'a file in the place of the folder');

      const error = await call(store).catch((thrown: unknown) => thrown);

      expect(error).toBeInstanceOf(StorageError);
      expect(error).toHaveProperty('missing', false);
    });
  });
});
