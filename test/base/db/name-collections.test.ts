import * as nameCollections from '../../../migrations/20261126010000_name_collections';
import { createTestDatabase } from '../../support/databases';

it('gives earlier feeds and sources no collection unless their mode is replace, and can be rolled back', async () => {
  const { db } = await createTestDatabase();
  await nameCollections.down(db);
  const [partner] = await db('partners').insert({ partner_name: 'Acme' }, ['partner_id']);
  const insertFeed = (key: string, more: object = {}) =>
    db('feeds').insert({
      ...partner,
      ...{ filename: 'a.csv', content_type: 'text/csv', raw_file_bucket: 'local', raw_file_object_key: key },
      ...{ sha256: Buffer.alloc(32), size_bytes: 1 },
      ...more,
    });
  const insertSource = (name: string, definition: object) =>
    db('sources').insert({ ...partner, source_name: name, definition: JSON.stringify(definition) });
  const stored = async () => ({
    feeds: await db('feeds').orderBy('raw_file_object_key').pluck('is_collection_named'),
    sources: (
      await db('sources').orderBy('source_name').pluck<{ collection: string | null }[]>('definition')
    ).map(({ collection }) => collection),
  });
  await insertFeed('a');
  await insertFeed('b', { mode: 'replace' });
  await insertSource('a', { mode: 'upsert', collection: 'main' });
  await insertSource('b', { mode: 'replace', collection: 'main' });
  await insertSource('c', { mode: 'update', collection: 'winter' });

  await nameCollections.up(db);
  // Release 1.2.0 does this during an upgrade.
  await insertFeed('c');
  const first = await stored();
  await nameCollections.up(db);

  expect(first).toEqual({ feeds: [false, true, false], sources: [null, 'main', 'winter'] });
  expect(await stored()).toEqual(first);
  await nameCollections.down(db);
  await nameCollections.up(db);
  expect(await stored()).toEqual(first);
});
