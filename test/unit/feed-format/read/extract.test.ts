import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { RecordPlace } from '../../../../src/feed-format/read/extract';
import { UnclosedQuote } from '../../../../src/feed-format/read/scan-record';
import { extractStrictly, strictHeader } from '../../../support/read-strictly';
import { copyRecord, type LongRecord, type PlainRecord } from '../../../support/reference-extractor';

/** Records extracted from a feed. */
interface Extracted {
  headers: { place: RecordPlace; raw: string }[];
  records: (PlainRecord | LongRecord)[];
  /** Raw text of each record. */
  raw: string[];
}

/** Reads a feed in chunks of `chunkBytes`. */
async function extractAll(text: string, chunkBytes = 1 << 16): Promise<Extracted> {
  const bytes = Buffer.from(text);
  const extracted: Extracted = { headers: [], records: [], raw: [] };
  const chunks = Array.from({ length: Math.ceil(bytes.length / chunkBytes) }, (_, at) =>
    bytes.subarray(at * chunkBytes, (at + 1) * chunkBytes),
  );
  const records = extractStrictly<never>(chunks, strictHeader(bytes), {
    onHeader(place, text) {
      extracted.headers.push({
        place: { line: place.line, lastLine: place.lastLine, row: place.row },
        raw: text,
      });
      return null;
    },
    onRecord(record) {
      extracted.records.push(copyRecord(record));
      extracted.raw.push(record.bytes.toString());
      return null;
    },
  });
  for await (const _ of records);
  return extracted;
}

/** Reads a feed without records that are too long. */
async function extract(text: string, chunkBytes?: number): Promise<PlainRecord[]> {
  const { records } = await extractAll(text, chunkBytes);
  return records.map((record) => {
    if ('tooLong' in record) throw new Error(`The record at line ${record.line} is too long.`);
    return record;
  });
}

const head = 'sku,product_name\n';

/** A record on one line, or from the first to the last of two. */
function row(lines: number | readonly [number, number], ...fields: string[]): Omit<PlainRecord, 'row'> {
  const [line, lastLine] = typeof lines === 'number' ? [lines, lines] : lines;
  return { line, lastLine, fields, misquoted: false };
}

describe.each([1, 2, 3, 7, 1 << 16])('records in chunks of %i bytes', (chunkBytes) => {
  it.each([
    ['LF', `${head}a,b\nc,d\n`, [row(2, 'a', 'b'), row(3, 'c', 'd')]],
    ['CRLF', 'sku,product_name\r\na,b\r\nc,d\r\n', [row(2, 'a', 'b'), row(3, 'c', 'd')]],
    ['both', 'sku,product_name\r\na,b\nc,d\r\n', [row(2, 'a', 'b'), row(3, 'c', 'd')]],
    ['no last line break', `${head}a,b`, [row(2, 'a', 'b')]],
    ['a byte order mark', `\uFEFF${head}a,b\n`, [row(2, 'a', 'b')]],
    ['blank lines', `\n\n${head}\n\r\n  \na,b\n\n\nc,d\n\n`, [row(7, 'a', 'b'), row(10, 'c', 'd')]],
    [
      'line breaks inside quotes',
      `${head}"a\nb\n","c"\nd,e\n`,
      [row([2, 4], 'a\nb\n', 'c'), row(5, 'd', 'e')],
    ],
    ['CRLF inside quotes', `${head}"a\r\nb",c\r\nd,e\r\n`, [row([2, 3], 'a\r\nb', 'c'), row(4, 'd', 'e')]],
    ['a line break inside the header', '"sku",product_name,"x\ny"\na,b,c\n', [row(3, 'a', 'b', 'c')]],
    ['line breaks inside the header', '"sku",product_name,"x\n\ny"\na,b,c\n', [row(4, 'a', 'b', 'c')]],
    [
      'blank lines after quoted ones',
      `${head}"a\n",b\n\n\nd,e\n`,
      [row([2, 3], 'a\n', 'b'), row(6, 'd', 'e')],
    ],
    ['doubled quotes', `${head}"a ""b"" c","""d"""\n`, [row(2, 'a "b" c', '"d"')]],
    ['a quote inside an unquoted field', `${head}12" monitor,b"c"\n`, [row(2, '12" monitor', 'b"c"')]],
    ['a quote after white space', `${head}a, "b"\n`, [row(2, 'a', ' "b"')]],
    ['rows of any length', `${head}a\n,\na,b,c\n`, [row(2, 'a'), row(3, '', ''), row(4, 'a', 'b', 'c')]],
    ['empty quotes alone on a line', `${head}""\na,b\n`, [row(2, ''), row(3, 'a', 'b')]],
    ['multi-byte characters', `${head}กขค,𝔸é\n`, [row(2, 'กขค', '𝔸é')]],
    ['a lone carriage return in a value', `${head}a\rb,c\n`, [row(2, 'a\rb', 'c')]],
  ])('are split with %s', async (_, text, records) => {
    // Rows are numbered from 1 without gaps.
    expect(await extract(text, chunkBytes)).toEqual(
      records.map((record, at) => ({ ...record, row: at + 1 })),
    );
  });

  it.each<[string, string, string[]]>([
    ['LF', `${head}a,b\nc,d\n`, ['a,b', 'c,d']],
    ['CRLF', 'sku,product_name\r\na,b\r\nc,d', ['a,b', 'c,d']],
    ['a byte order mark', `\uFEFF${head}a,b\n`, ['a,b']],
    ['a carriage return at its beginning', `${head}\ra,b\n`, ['\ra,b']],
    ['blank lines', `\n\n${head}\n\r\n  \na,b\n\n\nc,d\n\n`, ['a,b', 'c,d']],
    ['quotes that are not needed', `${head}"a","b"\n "c" ,"d"\n`, ['"a","b"', ' "c" ,"d"']],
    ['line breaks inside quotes', `${head}"a\nb\n","c"\nd,e\n`, ['"a\nb\n","c"', 'd,e']],
    ['CRLF inside quotes', `${head}"a\r\nb\r\n",c\r\nd,"e\r\n"`, ['"a\r\nb\r\n",c', 'd,"e\r\n"']],
    ['blank lines inside quotes', `${head}"\n\na",b\n\n"\n",e\n`, ['"\n\na",b', '"\n",e']],
    ['doubled quotes', `${head}"a ""b"" c","""d"""\n`, ['"a ""b"" c","""d"""']],
    ['text after a closing quote', `${head}"a"b,"c" d\n`, ['"a"b,"c" d']],
    ['spaces at edges', `${head} a , b \n\tc\t,\u00a0d\u3000\n`, [' a , b ', '\tc\t,\u00a0d\u3000']],
    ['rows of any length', `${head}a\n,\na,b,c,,\n""\n`, ['a', ',', 'a,b,c,,', '""']],
    ['multi-byte characters', `${head}กขค,𝔸é\n"𝔸\n",ข\n`, ['กขค,𝔸é', '"𝔸\n",ข']],
    ['a lone carriage return', `${head}a\rb,c\n`, ['a\rb,c']],
    ['NUL', `${head}a\0,b\n`, ['a\0,b']],
  ])('preserve their raw text with %s', async (_, text, raw) => {
    expect((await extractAll(text, chunkBytes)).raw).toEqual(raw);
  });

  it.each([
    ['on the first line', 'sku,product_name\na,b\n', [1, 1], 'sku,product_name'],
    ['after a byte order mark', '\uFEFFsku,product_name\r\na,b\n', [1, 1], 'sku,product_name'],
    [
      'after a byte order mark and blank lines',
      '\uFEFF\n\r\nsku,product_name\na,b\n',
      [3, 3],
      'sku,product_name',
    ],
    ['after blank lines', '\n \n,,\nsku,product_name\na,b\n', [4, 4], 'sku,product_name'],
    ['on several lines', '\n"sku",product_name,"x\n\ny"\na,b,c\n', [2, 4], '"sku",product_name,"x\n\ny"'],
  ] as const)('follow a header %s', async (_, text, [line, lastLine], raw) => {
    const { headers, records } = await extractAll(text, chunkBytes);

    expect(headers).toEqual([{ place: { line, lastLine, row: 0 }, raw }]);
    expect(records.map((record) => [record.row, record.line])).toEqual([[1, lastLine + 1]]);
  });

  it.each([
    ['"a"b,c', true],
    ['a,"b" ', true],
    ['a,"b"c"d"', true],
    ['"a\nb"c,d', true],
    ['""a,b', true],
    ['"a"\r,b', true],
    ['a,"b"\r\rx', true],
    ['a,""""""b', true],
    ['"""a""b",c', false],
    ['a,""""', false],
    ['"""",b', false],
    ['a,"""b"', false],
    ['a,"b\n""c"', false],
  ])('detect text after a closing quote: %j', async (line, misquoted) => {
    const records = await extract(`${head}x,"y"\n\n${line}\nz,"""z"""\n`, chunkBytes);

    expect(records).toHaveLength(3);
    expect(records.map((record) => record.misquoted)).toEqual([false, misquoted, false]);
    expect(records[1]!.line).toBe(4);
  });

  it('fail with the line of an unclosed quote', async () => {
    const feed = `${head}a,b\n\n"c\nd",e\nf,"g\nh,i\n`;

    await expect(extract(feed, chunkBytes)).rejects.toEqual(
      new UnclosedQuote('The quote that opens in the record at line 6 is never closed.'),
    );
  });
});

it('detects text after a closing quote with other delimiters', async () => {
  expect((await extract('sku;product_name\n"a";"b"c\n"d""";"e"\n')).map((r) => r.misquoted)).toEqual([
    true,
    false,
  ]);
  expect((await extract('sku\tproduct_name\n"a"x\t"b"\n')).map((r) => r.misquoted)).toEqual([true]);
});

it('treats a lone carriage return after the last closing quote as text after the quote', async () => {
  const { records, raw } = await extractAll(`${head}a,"b"\r\nc,"d"\r`);

  expect(records).toMatchObject([{ misquoted: false }, { misquoted: true }]);
  expect(raw).toEqual(['a,"b"', 'c,"d"\r']);
});

const recordBytes = 524_288;

describe.each([1 << 10, 1 << 16, 1 << 22])(
  'a record that is too long, in chunks of %i bytes,',
  (chunkBytes) => {
    it.each([
      ['a quoted cell', `C,"${'x'.repeat(recordBytes)}"`, 1],
      ['a quoted cell of many lines', `C,"${'x\n'.repeat(recordBytes)}"`, recordBytes + 1],
      ['a quoted cell of CRLFs', `C,"${'\r\n'.repeat(recordBytes)}"`, recordBytes + 1],
      ['doubled quotes', `C,"${'""'.repeat(recordBytes)}"`, 1],
      ['a cell without quotes', `C,${'x'.repeat(recordBytes)}`, 1],
      ['delimiters', `C${','.repeat(recordBytes)}`, 1],
      ['empty quoted cells', `C${',""'.repeat(recordBytes)}`, 1],
      ['text after a closing quote', `"C","x"${'y"\r'.repeat(recordBytes)}`, 1],
      ['characters of four bytes', `C,${'\u{1F600}'.repeat(recordBytes)}`, 1],
    ])('is one record without fields, and the next one is read: %s', async (_, record, lines) => {
      const { records, raw } = await extractAll(`${head}a,b\n\n${record}\r\nd,e\n`, chunkBytes);

      const lastLine = 3 + lines;
      expect(records).toEqual([
        { line: 2, lastLine: 2, row: 1, misquoted: false, fields: ['a', 'b'] },
        { line: 4, lastLine, row: 2, tooLong: true, sku: 'C' },
        { line: lastLine + 1, lastLine: lastLine + 1, row: 3, misquoted: false, fields: ['d', 'e'] },
      ]);
      expect(raw[1]).toBe('');
    });

    it('has its sku if the sku ends within the limit, for any chunks', async () => {
      const { records } = await extractAll(
        `product_name,sku\n"${'x'.repeat(recordBytes - 10)}","C",\n${'x'.repeat(recordBytes - 1)},C\n`,
        chunkBytes,
      );

      expect(records).toEqual([
        { line: 2, lastLine: 2, row: 1, misquoted: false, fields: expect.any(Array) as unknown },
        { line: 3, lastLine: 3, row: 2, tooLong: true, sku: undefined },
      ]);
    });

    it('may be exactly as large as the limit, line end included', async () => {
      const { records } = await extractAll(
        `${head}A,${'x'.repeat(recordBytes - 3)}\nB,${'x'.repeat(recordBytes - 2)}\nC,${'x'.repeat(recordBytes - 2)}`,
        chunkBytes,
      );

      expect(records.map((record) => 'tooLong' in record)).toEqual([false, true, false]);
    });

    it('fails the feed with its first line if its quote is never closed', async () => {
      const feed = `${head}a,b\nc,"${'x\n""'.repeat(recordBytes)}`;

      await expect(extractAll(feed, chunkBytes)).rejects.toEqual(
        new UnclosedQuote('The quote that opens in the record at line 3 is never closed.'),
      );
    });
  },
);

it('discards the bytes of a record that is too long', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const chunk = Buffer.alloc(64 * 1024, 'x');
  const memory = () => {
    collectGarbage();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  function* feed() {
    yield Buffer.from(`${head}A,"`);
    for (let at = 0; at < 1_000; at++) yield chunk;
    peak = memory();
    yield Buffer.from('"\nB,C\n');
  }
  const records = extractStrictly(feed(), strictHeader(head), { onRecord: (record) => record.field(0)! });
  const before = memory();
  let peak = 0;

  const skus: string[] = [];
  for await (const sku of records) skus.push(sku);

  expect(skus).toEqual(['A', 'B']);
  expect(peak - before).toBeLessThan(4 * recordBytes);
});

it('treats a quote after a carriage return at the start of a row as a character', async () => {
  const records = await extract(`${head}\r"a"b,"""c"""\n`);

  expect(records).toMatchObject([{ fields: ['\r"a"b', '"c"'], misquoted: false }]);
});

it('reads a cell of nearly half a megabyte', async () => {
  const [record] = await extract(`${head}a,"${'x'.repeat(500_000)}"\nb,c\n`);

  expect(record!.fields[1]).toHaveLength(500_000);
});

it('reads the largest valid row: all values of maximum length, of quotes or four-byte characters', async () => {
  const columns = { sku: 255, product_name: 1_000, description: 65_535, brand: 255, category: 1_000 };
  const row = (text: string) =>
    Object.values(columns)
      .map((length) => `"${text.repeat(length)}"`)
      .join(',');

  const records = await extract(`${Object.keys(columns).join(',')}\n${row('""')}\n${row('𝔸')}\n`);

  expect(records).toMatchObject([
    { row: 1, misquoted: false },
    { row: 2, misquoted: false },
  ]);
});

// A regular expression would overflow the stack here, and a search from each quote would take quadratic time.
it.each([
  ['well quoted', '"', false],
  ['with text after the last of them', '"x', true],
])('scans a cell of 0.5 MB of doubled quotes in linear time, %s', async (_, end, misquoted) => {
  const pairs = 250_000;

  const start = performance.now();
  const [record] = await extract(`${head}a,"${'""'.repeat(pairs)}${end}\n`);

  expect(performance.now() - start).toBeLessThan(5_000);
  expect(record!.misquoted).toBe(misquoted);
  expect(record!.fields[1]).toMatch(/^"/);
});

it('reads a row of many quoted cells in linear time', async () => {
  const cells = 80_000;

  const start = performance.now();
  const [record] = await extract(`${head}"a",${'"""",'.repeat(cells)}"b"\n`);

  expect(performance.now() - start).toBeLessThan(5_000);
  expect(record!.misquoted).toBe(false);
  expect(record!.fields).toHaveLength(cells + 2);
});

it('treats a byte order mark within the file as a character', async () => {
  const { records, raw } = await extractAll(`${head}\uFEFFa,b\n`);

  expect(records).toMatchObject([{ fields: ['\uFEFFa', 'b'] }]);
  expect(raw).toEqual(['\uFEFFa,b']);
});

it('buffers no records for a slow reader', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const rowBytes = 64 * 1024;
  function* feed() {
    yield Buffer.from(head);
    for (let at = 0; at < 400; at++) yield Buffer.from(`${at},${'x'.repeat(rowBytes)}\n`);
  }
  const records = extractStrictly(feed(), strictHeader(head), {
    // A copy, like the texts sent to the database.
    onRecord: (record) => Buffer.from(record.field(1)!).toString('latin1'),
  });
  collectGarbage();
  const before = process.memoryUsage().heapUsed;

  let readCount = 0;
  for await (const _ of records) {
    // Like a reader that waits for the database.
    await new Promise((resolve) => setImmediate(resolve));
    if (++readCount < 300) continue;
    collectGarbage();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(150 * rowBytes);
    break;
  }

  expect(readCount).toBe(300);
});
