import { Readable } from 'node:stream';
import { RecordExtractor } from '../../src/etl/extract';
import { FeedFailure } from '../../src/etl/feed-failure';
import { readHeader, type FeedHeader } from '../../src/etl/header';
import type { FeedRecord } from '../../src/etl/transform';

/** The records of a feed that comes in chunks of `chunkBytes`. */
async function extract(text: string, chunkBytes = 1 << 16): Promise<FeedRecord[]> {
  const bytes = Buffer.from(text);
  const records: FeedRecord[] = [];
  const extractor = new RecordExtractor(
    readHeader(bytes) as FeedHeader,
    () => null,
    (record) => {
      records.push(record);
      return null;
    },
  );
  const chunks = Array.from({ length: Math.ceil(bytes.length / chunkBytes) }, (_, at) =>
    bytes.subarray(at * chunkBytes, (at + 1) * chunkBytes),
  );
  for await (const _ of extractor.read(Readable.from(chunks)));
  return records;
}

const head = 'sku,product_name\n';
const row = (line: number, ...fields: string[]) => ({ line, fields, misquoted: false });

describe.each([1, 2, 3, 7, 1 << 16])('records that come in chunks of %i bytes', (chunkBytes) => {
  it.each([
    ['LF', `${head}a,b\nc,d\n`, [row(2, 'a', 'b'), row(3, 'c', 'd')]],
    ['CRLF', 'sku,product_name\r\na,b\r\nc,d\r\n', [row(2, 'a', 'b'), row(3, 'c', 'd')]],
    ['both', 'sku,product_name\r\na,b\nc,d\r\n', [row(2, 'a', 'b'), row(3, 'c', 'd')]],
    ['no last line break', `${head}a,b`, [row(2, 'a', 'b')]],
    ['a byte order mark', `\uFEFF${head}a,b\n`, [row(2, 'a', 'b')]],
    ['blank lines', `\n\n${head}\n\r\n  \na,b\n\n\nc,d\n\n`, [row(7, 'a', 'b'), row(10, 'c', 'd')]],
    ['line breaks inside quotes', `${head}"a\nb\n","c"\nd,e\n`, [row(2, 'a\nb\n', 'c'), row(5, 'd', 'e')]],
    ['CRLF inside quotes', `${head}"a\r\nb",c\r\nd,e\r\n`, [row(2, 'a\r\nb', 'c'), row(4, 'd', 'e')]],
    ['line breaks inside the header', '"sku",product_name,"x\n\ny"\na,b,c\n', [row(4, 'a', 'b', 'c')]],
    ['blank lines after quoted ones', `${head}"a\n",b\n\n\nd,e\n`, [row(2, 'a\n', 'b'), row(6, 'd', 'e')]],
    ['doubled quotes', `${head}"a ""b"" c","""d"""\n`, [row(2, 'a "b" c', '"d"')]],
    ['a quote inside an unquoted field', `${head}12" monitor,b"c"\n`, [row(2, '12" monitor', 'b"c"')]],
    ['a quote after white space', `${head}a, "b"\n`, [row(2, 'a', ' "b"')]],
    ['rows of any length', `${head}a\n,\na,b,c\n`, [row(2, 'a'), row(3, '', ''), row(4, 'a', 'b', 'c')]],
    ['empty quotes alone on a line', `${head}""\na,b\n`, [row(2, ''), row(3, 'a', 'b')]],
    ['multi-byte characters', `${head}กขค,𝔸é\n`, [row(2, 'กขค', '𝔸é')]],
    ['a lone carriage return in a value', `${head}a\rb,c\n`, [row(2, 'a\rb', 'c')]],
  ])('are read with %s', async (_, text, records) => {
    expect(await extract(text, chunkBytes)).toEqual(records);
  });

  it.each([
    ['"a"b,c', true],
    ['a,"b" ', true],
    ['a,"b"c"d"', true],
    ['"a\nb"c,d', true],
    ['""a,b', true],
    ['a,""""""b', true],
    ['"""a""b",c', false],
    ['a,""""', false],
    ['"""",b', false],
    ['a,"""b"', false],
    ['a,"b\n""c"', false],
  ])('tell text after a closing quote: %j', async (line, misquoted) => {
    const records = await extract(`${head}x,"y"\n\n${line}\nz,"""z"""\n`, chunkBytes);

    expect(records).toHaveLength(3);
    expect(records.map((record) => record.misquoted)).toEqual([false, misquoted, false]);
    expect(records[1]!.line).toBe(4);
  });

  it('end with the line of a quote that is never closed', async () => {
    const feed = `${head}a,b\n\n"c\nd",e\nf,"g\nh,i\n`;

    await expect(extract(feed, chunkBytes)).rejects.toEqual(
      new FeedFailure('The quote that opens in the record at line 6 is never closed.'),
    );
  });
});

it('tells text after a closing quote with other delimiters too', async () => {
  expect((await extract('sku;product_name\n"a";"b"c\n"d""";"e"\n')).map((r) => r.misquoted)).toEqual([
    true,
    false,
  ]);
  expect((await extract('sku\tproduct_name\n"a"x\t"b"\n')).map((r) => r.misquoted)).toEqual([true]);
});

it('gives up a record that is too large to be one, and names its line', async () => {
  const feed = `${head}a,b\nc,"${'x'.repeat(17 * 1024 * 1024)}`;

  await expect(extract(feed)).rejects.toEqual(
    new FeedFailure('The record at line 3 is larger than 16777216 bytes; a quote may have been left open.'),
  );
});

it('reads a cell of five megabytes', async () => {
  const [record] = await extract(`${head}a,"${'x'.repeat(5_000_000)}"\n`);

  expect(record!.fields[1]).toHaveLength(5_000_000);
});
