import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { encode } from 'iconv-lite';
import { findBuiltInFormat } from '../../src/feed-format/built-in-formats';
import type { FeedFormat, FormatDefinition } from '../../src/feed-format/format-definition';
import type { LoadMode } from '../../src/feed-format/load-options';
import { anyBytes, anyFeed } from '../support/arbitrary';
import { checkedFacts, loadedFacts, type SentFile } from '../support/checks';
import { casesFor } from '../support/fuzz';
import { startTestService, type TestService } from '../support/service';

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
});

let partners = 0;

async function expectAgreement(file: SentFile, ...chunkSizes: number[]): Promise<Record<string, unknown>> {
  const loaded = await loadedFacts(service, `Partner ${++partners}`, file);
  expect(await checkedFacts(file, ...chunkSizes)).toEqual(loaded);
  return loaded;
}

const standard = findBuiltInFormat('standard')!.definition;

/** A format with all that decides about a row: groups, conditions, kept cells, null words, prices in German. */
const demanding: FormatDefinition = {
  decimal_separator: ',',
  null_values: ['NA'],
  columns: {
    sku: { from: ['sku'] },
    product_name: { from: ['product_name'] },
    brand: { from: ['brand'] },
    price: { from: ['price'] },
    availability: { from: ['availability'] },
  },
  fill_down: [{ column: 'brand', by: 'product_name' }],
  only_rows_where: [{ header: 'category', values: ['', 'Camping'] }],
  keep_when_empty: ['product_name', 'price'],
};

const formats: (FeedFormat | null)[] = [
  null,
  { name: 'standard', definition: standard },
  { name: 'demanding', definition: demanding },
  { name: 'utf-16le', definition: { ...standard, encoding: 'utf-16le' } },
];

const anySent = fc.record({
  bytes: fc.oneof({ weight: 4, arbitrary: anyFeed.map((csv) => Buffer.from(csv)) }, anyBytes),
  format: fc.constantFrom(...formats),
  mode: fc.constantFrom<LoadMode>('upsert', 'replace'),
  maxSkippedPercent: fc.constantFrom(null, null, 0, 50),
  isPacked: fc.nat(4).map((draw) => draw === 0),
});

test('a check agrees with the first run of any file in counts, codes and every issue', async () => {
  await fc.assert(
    fc.asyncProperty(anySent, fc.integer({ min: 1, max: 40 }), async (sent, chunkSize) => {
      const { isPacked, ...file } = sent;
      const isUtf16 = file.format?.definition.encoding === 'utf-16le';
      const text = isUtf16 ? encode(file.bytes.toString(), 'utf-16le') : file.bytes;
      const bytes = isPacked ? gzipSync(text) : text;
      await expectAgreement({ ...file, bytes, fileName: isPacked ? 'feed.csv.gz' : 'feed.csv' }, chunkSize);
    }),
    casesFor('checks and runs', 25),
  );
});

const upsert = { mode: 'upsert', format: null } as const;

test.each([
  ['an empty file', { ...upsert, bytes: Buffer.from(' \n') }, 'Uploaded file is empty.'],
  [
    'no CSV',
    { ...upsert, bytes: Buffer.from('a'), fileName: 'feed.pdf' },
    'Only CSV uploads are supported at this time.',
  ],
  [
    'rejects with mode replace',
    { bytes: Buffer.from('_line,_codes,sku,product_name\n'), mode: 'replace' as const, format: null },
    "Input should be 'upsert' for a file of skipped rows (_line, _codes)",
  ],
  [
    'a format without a name',
    {
      ...upsert,
      bytes: Buffer.from('sku\nA\n'),
      format: { name: 'x', definition: { columns: { sku: { from: ['sku'] } } } },
    },
    "Format should have the column 'product_name', except in mode 'update'",
  ],
  [
    'a truncated gzip file',
    {
      ...upsert,
      bytes: gzipSync('sku,product_name\nA,Tent\n').subarray(0, -3),
      fileName: 'feed.csv.gz',
      format: { name: 's', definition: standard },
    },
    'Malformed gzip file.',
  ],
] satisfies [string, SentFile, string][])(
  'a check refuses %s with the text of the upload',
  async (_, file, text) => {
    expect(await expectAgreement(file, 7)).toEqual({ refusal: text });
  },
);

test('a check of a file with an unclosed quote fails with the text of the run', async () => {
  const csv = 'sku,product_name\nA,Tent\nA,Lamp\n,Pan\nB,"Rope\n';

  expect(await expectAgreement({ ...upsert, bytes: Buffer.from(csv) }, 5)).toMatchObject({
    runFailure: 'The quote that opens in the record at line 5 is never closed.',
    counts: [1],
  });
});
