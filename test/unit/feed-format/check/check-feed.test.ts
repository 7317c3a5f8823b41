import { gzipSync } from 'node:zlib';
import { findBuiltInFormat } from '../../../../src/feed-format/built-in-formats';
import { checkFeed, type CheckedUpload } from '../../../../src/feed-format/check/check-feed';
import { checkedFacts } from '../../../support/checks';

const standard = findBuiltInFormat('standard')!;
const upload: CheckedUpload = { fileName: 'feed.csv', mode: 'upsert', format: null, maxSkippedPercent: null };

/** Larger than what the checks of a header keep. */
const large = Buffer.from(
  `sku,product_name\n${Array.from({ length: 30_000 }, (_, row) => `${row},Tent ${row * 7}\n`).join('')}`,
);

describe('checkFeed', () => {
  it.each([1_000, 1 << 16])(
    'refuses a packed file that is damaged within, in chunks of %s bytes',
    async (size) => {
      const bytes = gzipSync(large);
      for (const at of [0.3, 0.7]) {
        const damaged = Buffer.from(bytes);
        damaged.fill(0xff, Math.floor(at * bytes.length), Math.floor(at * bytes.length) + 40);

        expect(
          await checkedFacts({ ...upload, format: standard, bytes: damaged, fileName: 'feed.csv.gz' }, size),
        ).toEqual({
          refusal: 'Malformed gzip file.',
        });
      }
    },
  );

  it.each([null, standard])(
    'refuses a file with a byte near its end that is no UTF-8, and shows no rows',
    async (format) => {
      const bytes = Buffer.concat([large, Buffer.from('X,Z'), Buffer.from([0xe9]), Buffer.from('lt\n')]);

      expect(await checkedFacts({ ...upload, format, bytes }, 1 << 16)).toEqual({
        refusal: 'CSV file must be UTF-8 encoded.',
      });
    },
  );

  it('counts rows that its options leave to the service as loadable', async () => {
    async function* content() {
      yield await Promise.resolve(Buffer.from('sku,price\nA,1\nB,x\nA,2\n'));
    }

    expect(await checkFeed(content(), { ...upload, mode: 'update' })).toMatchObject({
      refusal: null,
      rows: 3,
      loadable: 1,
      skipped: 2,
      superseded: 1,
    });
  });

  it('passes on an error of the content', async () => {
    const broken = new Error('the disk is gone');
    async function* content() {
      yield await Promise.resolve(large);
      throw broken;
    }

    await expect(checkFeed(content(), upload)).rejects.toBe(broken);
  });
});
