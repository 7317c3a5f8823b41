import fc from 'fast-check';
import { encode } from 'iconv-lite';
import { gzipSync } from 'node:zlib';
import { Readable } from 'node:stream';
import { RecordExtractor, type FeedRecord } from '../../../../src/feed-format/read/extract';
import { readHeader } from '../../../../src/feed-format/read/header';
import type { NamedHeader } from '../../../../src/feed-format/read/header-columns';
import { RecordScanner } from '../../../../src/feed-format/read/scan-record';
import { type FeedFailure } from '../../../../src/runs/etl/run-result';
import type { Encoding, FormatDefinition } from '../../../../src/feed-format/format-definition';
import { findBuiltInFormat } from '../../../../src/feed-format/built-in-formats';
import { chunksOf, readFormatted, readValues } from '../../../support/read-by-format';

const own = findBuiltInFormat('standard')!.definition;

/** A format with sku and name in columns of those names, and the given members. */
const format = (
  more: Partial<FormatDefinition> = {},
  columns: FormatDefinition['columns'] = own.columns,
) => ({
  ...more,
  columns,
});

const skuAndName = { sku: { from: ['Art'] }, product_name: { from: ['Bezeichnung'] } };
const withPrice = { ...skuAndName, price: { from: ['Preis'] } };

const pricesOf = async (decimal: string, prices: string[], separator = ';') => {
  const file = ['Art;Bezeichnung;Preis', ...prices.map((price, at) => `A${at};x;${price}`)].join('\n');
  const definition = format({ delimiter: separator, decimal_separator: decimal }, withPrice);
  const rows = await readFormatted(file, definition);
  return rows.map(({ values, codes }) => values?.price ?? codes.join());
};

describe('lines', () => {
  const definition = format({ skip_lines: 2 });

  test.each([
    ['LF', '\n'],
    ['CRLF', '\r\n'],
    ['CR', '\r'],
  ])('that end in %s: number and offset of each record are the original ones', async (_name, end) => {
    const lines = [
      'sep=,',
      'Price list',
      '"2026',
      'sku,product_name',
      'A-1,Lamp',
      '',
      `A-2,"two${end}lines"`,
      'A-3,Tent',
    ];
    const file = lines.join(end);
    for (const chunk of [1, 2, 3, 5, 1000]) {
      const rows = await readFormatted(file, definition, { chunkSizes: [chunk] });
      expect(rows.map(({ line, lastLine, row, offset }) => [line, lastLine, row, offset])).toEqual([
        [5, 5, 1, file.indexOf('A-1')],
        [7, 8, 2, file.indexOf('A-2')],
        [9, 9, 3, file.indexOf('A-3')],
      ]);
      expect(rows[1]!.values).toEqual({ sku: 'A-2', product_name: `two${end}lines` });
    }
  });

  test('may end in different ways in one file', async () => {
    const rows = await readFormatted('sku,product_name\rA,a\nB,b\r\nC,c\r\rD,d', own);
    expect(rows.map(({ line, values }) => [line, values?.sku])).toEqual([
      [2, 'A'],
      [3, 'B'],
      [4, 'C'],
      [6, 'D'],
    ]);
  });

  test.each(['sep=;', '"sep=;"', 'SEP=\t', 'sep=, '])('a first line %j is not a header', async (line) => {
    const values = await readValues(`${line}\nsku;product_name\nA;a\n`, format({ delimiter: ';' }));
    expect(values).toEqual([{ sku: 'A', product_name: 'a' }]);
  });

  test('the line with the delimiter does not count for skip_lines, and a mark may precede it', async () => {
    const file = encode('sep=;\r\nReport\r\nsku;product_name\r\nA;a\r\n', 'utf-8', { addBOM: true });
    const rows = await readFormatted(file, format({ skip_lines: 1 }));
    expect(rows).toMatchObject([{ line: 4, offset: 3 + 'sep=;\r\nReport\r\nsku;product_name\r\n'.length }]);
  });

  test('a file with fewer lines than skip_lines has no header', async () => {
    await expect(readFormatted('sku,product_name\nA,a\n', format({ skip_lines: 9 }))).rejects.toThrow(
      'Invalid CSV file: Missing required CSV headers: product_name, sku',
    );
  });
});

describe('fields', () => {
  test('a delimiter at the end of every record is not a field, and another one is one too many', async () => {
    const rows = await readFormatted(
      'Art;Bezeichnung\nA;a;\nB;b;;\nC;c;x\nD;d\nE;"e;"\nF;f;\nG;g;\nH;h;\nI;i;\n',
      format({}, skuAndName),
    );
    expect(rows.map(({ values, codes }) => values?.sku ?? codes[0])).toEqual([
      'A',
      'too_many_fields',
      'too_many_fields',
      'D',
      'E',
      'F',
      'G',
      'H',
      'I',
    ]);
  });

  test.each([
    ['with', 'Art;Bezeichnung;Preis;Lager\n', {}, { ...withPrice, availability: { from: ['Lager'] } }],
    [
      'without',
      '',
      { header: false, delimiter: ';' },
      {
        sku: { position: 1 },
        product_name: { position: 2 },
        price: { position: 3 },
        availability: { position: 4 },
      },
    ],
  ])(
    'of a single row with one too many are never shifted, %s a header row',
    async (_name, header, more, columns) => {
      const file = `${header}A;a;1;yes\nB;b; large;2;\nC;c;3;\n`;
      const rows = await readFormatted(file, format(more, columns));
      expect(rows.map(({ values, codes }) => values?.sku ?? codes[0])).toEqual(['A', 'too_many_fields', 'C']);
    },
  );

  test('blanks may surround the quotes of a cell; other text is still an error', async () => {
    const rows = await readFormatted(
      'sku , product_name\n"A"  ,"Lamp, red" \t\n"B", "x"\n"C" x,c\n"D" \r\n',
      format({ delimiter: ',' }),
      { chunkSizes: [1] },
    );
    expect(rows.map(({ values, codes }) => values ?? codes)).toEqual([
      { sku: 'A', product_name: 'Lamp, red' },
      { sku: 'B', product_name: 'x' },
      ['invalid_quoting'],
      ['missing_required'],
    ]);
  });

  test('blanks may follow the closing quotes of names, also if text follows one', async () => {
    for (const others of ['', ',size', ',"Ø 5" pipe"', ',"a ""b"""\t']) {
      const file = `"sku" ,"product_name"\t${others}\nA,Lamp\n`;
      expect(await readValues(file, own)).toEqual([{ sku: 'A', product_name: 'Lamp' }]);
    }
  });

  test('lines before the header row may be longer than a chunk, and a part of them has no rows', async () => {
    const file = Buffer.from(`${`${'x,'.repeat(50)}\n`.repeat(3)}sku,product_name\nA,Lamp\n`);
    const header = readHeader(file, format({ skip_lines: 3 })) as NamedHeader;
    const rowsOf = async (text: Buffer) => {
      const rows: string[] = [];
      const onRecord = (record: FeedRecord) => (rows.push(record.field(0)!), null);
      const extractor = new RecordExtractor<never>(header, () => null, onRecord);
      for await (const _ of extractor.read(Readable.from(chunksOf(text, 16))));
      return rows;
    };

    expect(await rowsOf(file)).toEqual(['A']);
    expect(await rowsOf(file.subarray(0, 200))).toEqual([]);
  });

  test('the delimiter is the one of the format, or else detected from the header row', async () => {
    for (const delimiter of [',', ';', '\t', '|']) {
      const file = ['sku', 'product_name'].join(delimiter) + '\n' + ['A', 'a'].join(delimiter);
      expect(await readValues(file, format({ delimiter }))).toEqual([{ sku: 'A', product_name: 'a' }]);
      if (delimiter === '|') await expect(readValues(file, own)).rejects.toThrow('Missing required');
      else expect(await readValues(file, own)).toHaveLength(1);
    }
  });

  test('without a header row, columns have positions, and the first record is a row', async () => {
    const positions = { sku: { position: 3 }, product_name: { position: 1 }, currency: { value: 'EUR' } };
    const rows = await readFormatted('Lamp,9,A\nTent,8,B\nToo,7,C,x\n', format({ header: false }, positions));
    expect(rows).toMatchObject([
      { line: 1, row: 1, offset: 0, values: { sku: 'A', product_name: 'Lamp', currency: 'EUR' } },
      { line: 2, row: 2, offset: 9, values: { sku: 'B', product_name: 'Tent' } },
      { line: 3, codes: ['too_many_fields'] },
    ]);
  });

  test('without a header row are as many as most rows have, for any first row', async () => {
    const columns = { sku: { position: 1 }, product_name: { position: 2 } };
    const rows = (file: string, more: Partial<FormatDefinition> = {}) =>
      readFormatted(file, format({ header: false, ...more }, columns));
    const loaded = async (...given: Parameters<typeof rows>) =>
      (await rows(...given)).map(({ values, codes }) => values?.sku ?? codes[0]);

    expect(await loaded('A,a\nB,b,9,x\nC,c,8,y\nD,d, e,7,z\n')).toEqual(['A', 'B', 'C', 'too_many_fields']);
    expect(await loaded('A,a,9,x\nB,b\nC,c\nD,d,8,y\n')).toEqual(['A', 'B', 'C', 'D']);
    // With equally many rows of two widths, nothing proves that the second one is right.
    expect(await loaded('A,a\nB,b, c\n')).toEqual(['A', 'too_many_fields']);
    expect(await loaded('A,a\nB,b,9\n', { fields: 3 })).toEqual(['A', 'B']);
    expect(await loaded('A,a, b,c\nB,b\n', { fields: 2 })).toEqual(['too_many_fields', 'B']);
  });

  /** Fields, lines and quoting of the first record. */
  const scanned = (scanner: RecordScanner, text: string) => {
    const bytes = Buffer.from(text);
    scanner.begin(0);
    const found = scanner.scan(bytes, true);
    const fields = Array.from({ length: scanner.fieldCount }, (_, position) => scanner.field(position));
    return {
      found,
      fields,
      next: scanner.next,
      lineBreaks: scanner.lineBreaks,
      misquoted: scanner.misquoted,
    };
  };

  test('are the same as without a format, except for CR and for blanks behind quotes', () => {
    const character = fc.constantFrom('a', 'é', '"', '"', ',', ';', '\n', '\r\n', '😀', '\0');
    fc.assert(
      fc.property(fc.array(character, { maxLength: 20 }), (characters) => {
        const text = characters.join('');
        expect(scanned(new RecordScanner(',', Infinity, 'padded'), text)).toEqual(
          scanned(new RecordScanner(',', Infinity, 'strict'), text),
        );
      }),
      { numRuns: 1_000 },
    );
  });

  test('of lines that end in CR equal the same text with LF', () => {
    const character = fc.constantFrom('a', 'é', '"', '"', ',', ' ', '\t', '\n', '\0');
    fc.assert(
      fc.property(fc.array(character, { maxLength: 20 }), (characters) => {
        const text = characters.join('');
        const { fields, ...withCr } = scanned(
          new RecordScanner(',', Infinity, 'padded'),
          text.replaceAll('\n', '\r'),
        );
        const withLf = scanned(new RecordScanner(',', Infinity, 'padded'), text);
        expect({ ...withCr, fields: fields.map((field) => field?.replaceAll('\r', '\n')) }).toEqual(withLf);
      }),
      { numRuns: 1_000 },
    );
  });

  test('do not depend on the chunks of the file', async () => {
    const cell = fc
      .array(fc.constantFrom('a', 'é', '"', '""', ',', '\n', '\r', '\r\n', ' ', '\t'), { maxLength: 5 })
      .map((all) => all.join(''));
    const quoted = cell.map((text) => `"${text.replaceAll('"', '""')}"`);
    const record = fc.tuple(fc.oneof(cell, quoted), fc.oneof(cell, quoted)).map((cells) => cells.join(','));
    const file = fc.array(fc.tuple(record, fc.constantFrom('\n', '\r\n', '\r')), { maxLength: 6 });
    const sizes = fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 4 });
    const encodings = fc.constantFrom<Encoding>('utf-8', 'utf-16le', 'windows-1252', 'gb18030');
    await fc.assert(
      fc.asyncProperty(file, sizes, encodings, async (records, chunkSizes, encoding) => {
        const text = `sku,product_name\n${records.flat().join('')}`;
        const definition = format({ encoding, delimiter: ',' });
        const read = (options?: { chunkSizes: number[] }) =>
          readFormatted(text, definition, options).catch((error: unknown) => (error as FeedFailure).message);
        expect(await read({ chunkSizes })).toEqual(await read());
      }),
      { numRuns: 300 },
    );
  });
});

describe('offsets', () => {
  test.each<[Encoding, string]>([
    ['utf-16le', 'Größe 😀'],
    ['utf-16be', '日本'],
    ['windows-1252', 'Größe €'],
    ['windows-1251', 'Лампа'],
    ['windows-1253', 'Λάμπα'],
    ['windows-1255', 'מנורה ₪'],
    ['windows-1256', 'مصباح'],
    ['windows-1257', 'Šviestuvas žalias'],
    ['windows-874', 'โคมไฟ'],
    ['shift_jis', '表ソｱ'],
    ['euc-jp', '丂表'],
    ['euc-kr', '한글'],
    ['gb18030', '中文ÿ😀'],
    ['big5', '許功'],
    ['utf-8', 'é'],
  ])('of a file in %s count its bytes', async (encoding, name) => {
    const before = `sku,product_name\r\nA,${name}\r\n"B","${name}\n${name}"\r\n`;
    const file = `${before}C,${name}`;
    for (const chunk of [1, 2, 7, 1000]) {
      const rows = await readFormatted(file, format({ encoding }), { chunkSizes: [chunk] });
      expect(rows[2]).toMatchObject({
        line: 5,
        offset: encode(before, encoding).length,
        values: { sku: 'C', product_name: name },
      });
    }
  });

  test('of a gzip file count the unpacked bytes', async () => {
    const text = 'sku,product_name\nA,a\nB,b\n';
    const file = Buffer.concat([gzipSync(text.slice(0, 19)), gzipSync(text.slice(19))]);
    const rows = await readFormatted(file, own, { chunkSizes: [3] });
    expect(rows.map(({ line, offset }) => [line, offset])).toEqual([
      [2, 17],
      [3, 21],
    ]);
  });

  test('are exact after a record that is too long', async () => {
    const long = 'x\r'.repeat(300 * 1024);
    const file = `sku,product_name\rA,"${long}"\rB,é\r`;
    const rows = await readFormatted(file, format({ encoding: 'windows-1252' }));
    expect(rows.map(({ line, offset, codes }) => [line, offset, codes])).toEqual([
      [2, 17, ['value_too_long']],
      [2 + 300 * 1024 + 1, file.indexOf('B,é'), []],
    ]);
  });
});

describe('columns', () => {
  test('are mapped by the first matching header of the file, ignoring case and blanks', async () => {
    const columns = {
      sku: { from: ['SKU', 'Art'] },
      product_name: { from: ['Title', 'Bezeichnung'] },
      brand: { from: ['Marke'] },
      category: { from: ['art'] },
    };
    expect(await readValues(' ART ,bezeichnung,Rest\nA,a,r\n', format({}, columns))).toEqual([
      { sku: 'A', product_name: 'a', category: 'A' },
    ]);
  });

  test('may be joined: cells are trimmed, empty ones omitted, and the first text may differ', async () => {
    const columns = {
      sku: { join: ['Art', 'Var'], with: '-' },
      product_name: { join: ['Name', 'Farbe', 'Größe', 'Nicht da'], with: ' / ', first_with: ': ' },
    };
    const file = 'Art;Var;Name;Farbe;Größe\nA;1;Lampe; rot ;L\nB;;Zelt;;\nC;2;;blau;M\n';
    expect(await readValues(file, format({}, columns))).toEqual([
      { sku: 'A-1', product_name: 'Lampe: rot / L' },
      { sku: 'B', product_name: 'Zelt' },
      { sku: 'C-2', product_name: 'blau / M' },
    ]);
  });

  test('may have one value for all rows', async () => {
    const columns = { ...withPrice, currency: { value: 'EUR' }, availability: { value: 'auf Lager' } };
    const availability = { 'Auf lager': 'in_stock' as const };
    expect(await readValues('Art,Bezeichnung,Preis\nA,a,5\n', format({ availability }, columns))).toEqual([
      { sku: 'A', product_name: 'a', price: '5', currency: 'EUR', availability: 'in_stock' },
    ]);
  });

  test('of one header repeat its cell; an unused header may repeat', async () => {
    const columns = { sku: { from: ['id'] }, product_name: { from: ['id'] } };
    expect(await readValues('id,x,x\nA,1,2\n', format({}, columns))).toEqual([
      { sku: 'A', product_name: 'A' },
    ]);
  });

  test('that are missing or repeated are named as in the format', async () => {
    await expect(readValues('Art,x\n', format({}, skuAndName))).rejects.toThrow(
      'Invalid CSV file: Missing required CSV headers: Bezeichnung, Art',
    );
    await expect(readValues('art,Bezeichnung,ART\n', format({}, skuAndName))).rejects.toThrow(
      'Invalid CSV file: Duplicate header: Art',
    );
  });

  test('require no name in mode update', async () => {
    expect(await readValues('Art\nA\n', format({}, { sku: { from: ['Art'] } }), { mode: 'update' })).toEqual([
      { sku: 'A' },
    ]);
  });

  test('without an entry are absent, also if the file has a header with the standard name', async () => {
    expect(await readValues('Art,Bezeichnung,brand\nA,a,b\n', format({}, skuAndName))).toEqual([
      { sku: 'A', product_name: 'a' },
    ]);
  });
});

describe('a row that repeats the header', () => {
  const codesOf = async (file: string, definition = format({}, skuAndName)) =>
    (await readFormatted(file, definition)).map(({ row, codes, values }) => [row, ...codes, values?.sku]);

  test.each([
    ['as it was', 'Art,Bezeichnung,x'],
    ['with a byte order mark, as of a file that was appended', '\ufeffArt,Bezeichnung,x'],
    ['with a mark and quotes', '\ufeff"Art","Bezeichnung","x"'],
    ['in another case and with spaces', ' ART ,"bezeichnung" , X'],
  ])('is skipped with only that issue: %s', async (_, repeated) => {
    expect(await codesOf(`Art,Bezeichnung,x\nA,a,\n${repeated}\nB,b,\n`)).toEqual([
      [1, 'A'],
      [2, 'repeated_header', undefined],
      [3, 'B'],
    ]);
  });

  test.each(['Art,Bezeichnung,y', 'Art,Bezeichnung', 'Art,Bezeichnung,x,', 'Art,Bezeichnung 2,x'])(
    'is not detected in %j',
    async (row) => {
      expect((await codesOf(`Art,Bezeichnung,x\n${row}\n`))[0]).not.toContain('repeated_header');
    },
  );

  test('does not end a group that is filled down', async () => {
    const definition = format({ fill_down: [{ column: 'product_name', by: 'Group' }] }, skuAndName);
    const file = 'Group,Art,Bezeichnung\ng,A,Tent\nGroup,Art,Bezeichnung\ng,B,\n';
    expect(await readFormatted(file, definition)).toMatchObject([
      { values: { product_name: 'Tent' } },
      { codes: ['repeated_header'] },
      { values: { sku: 'B', product_name: 'Tent' } },
    ]);
  });

  test('does not exist if the file has no header', async () => {
    const positions = { sku: { position: 1 }, product_name: { position: 2 } };
    expect(await codesOf('Art,Bezeichnung\nArt,Bezeichnung\n', format({ header: false }, positions))).toEqual(
      [
        [1, 'Art'],
        [2, 'Art'],
      ],
    );
  });
});

describe('values', () => {
  test('with decimal comma may have one kind of thousands separator, in groups of three', async () => {
    const prices = [
      ['9,90', '9.90'],
      ['199', '199'],
      ['1.299,00', '1299.00'],
      ['1.299', '1299'],
      ['12.345.678,5', '12345678.5'],
      ['1 299,00', '1299.00'],
      ['1\u00a0299,00 €', '1299.00'],
      ['1\u202f299\u00a0000,00', '1299000.00'],
      ["1'299,00", '1299.00'],
      ['CHF 1’299,50', '1299.50'],
      ['€ 5', '5'],
      ['1,299', '1.299'],
      ['0,9999', '0.9999'],
      ['19,990000', '19.9900'],
      ['1.299,500000 €', '1299.5000'],
      ['0', '0'],
    ];
    expect(
      await pricesOf(
        ',',
        prices.map(([text]) => text!),
      ),
    ).toEqual(prices.map(([, value]) => value));
  });

  test.each([
    ...[
      '12.50',
      '1,299.00',
      '1.299.00',
      '1.29,00',
      '1 29,00',
      '1.299 000,00',
      "1'299.000,00",
      '0.500,00',
      ',50',
    ],
    ...['9,90,00', '9,99999', '-5,00', '1.2999', '1..299', '€ 5 €', 'EUR 5,00 EUR', 'NaN', '9.5', '$'],
  ])('with decimal comma reject %j', async (text) => {
    expect(await pricesOf(',', [text])).toEqual(['invalid_price']);
  });

  test.each([
    [',', '12,5,0', ['1299,00', '1.299,00', '$5', '5 EUR', '999.999.999.999,9999']],
    ['.', '12.5.0', ['1299.00', '1,299.00', '$5', '5 EUR', '999,999,999,999.9999']],
    [',', '12.50', ['1299,00', '1.299,00']],
    ['.', '12,50', ['1299.00']],
    [',', '9,99999', []],
  ])(
    'with %j that are rejected have a message with numbers that are not',
    async (decimal, refused, examples) => {
      const definition = format({ delimiter: ';', decimal_separator: decimal }, withPrice);
      const [row] = await readFormatted(`Art;Bezeichnung;Preis\nA;x;${refused}`, definition);
      for (const example of examples) expect(row!.messages.join()).toContain(example);
      const prices = await pricesOf(decimal, examples);
      for (const price of prices) expect(['1299.00', '5', '999999999999.9999']).toContain(price);
    },
  );

  test.each([
    ['has a decimal point', ['12.50', '1,299.00', '1.2999', '$ 9.5', '1 299.-', '1.299.-']],
    ['is negative', ['-5,00', '-1.299,00']],
    ['has more than four decimals', ['9,99999']],
    ['is larger than 999.999.999.999,9999', ['1.000.000.000.000,00']],
    ['names a currency', ['5,00 Taler', 'zlot 5']],
    ['has no digits', ['#N/A']],
    ['is not a number in the accepted form', ['12,5,0', '1 29,00', ',50']],
  ])('with decimal comma have a message that the price %s', async (wrong, prices) => {
    const definition = format({ delimiter: ';', decimal_separator: ',' }, withPrice);
    for (const price of prices) {
      const [row] = await readFormatted(`Art;Bezeichnung;Preis\nA;x;${price}`, definition);
      expect([price, row!.messages]).toEqual([price, [expect.stringContaining(`price ${wrong}`)]]);
    }
  });

  test('with a decimal point are parsed as specified', async () => {
    expect(await pricesOf('.', ['1,299.00', '12.50', '1.299,00', '9,90'])).toEqual([
      '1299.00',
      '12.50',
      'invalid_price',
      'invalid_price',
    ]);
  });

  test('never read a price differently from a second implementation', async () => {
    const part = fc.constantFrom('1', '12', '123', '0', '.', ',', ' ', "'", '\u00a0');
    await fc.assert(
      fc.asyncProperty(fc.array(part, { minLength: 1, maxLength: 8 }), async (parts) => {
        const text = parts.join('').trim();
        const [read] = await pricesOf(',', [text || '0']);
        const [whole = '', ...decimals] = (text || '0').split(',');
        const kinds = new Set([...whole.matchAll(/\D/g)].map(([sign]) => (sign === '\u00a0' ? ' ' : sign)));
        const groups = whole.split(/\D/);
        const isGrouped = groups.slice(1).every((group) => group.length === 3);
        const isRight =
          decimals.length <= 1 &&
          kinds.size <= 1 &&
          isGrouped &&
          (groups.length === 1 ? whole !== '' : /^[1-9]\d{0,2}$/.test(groups[0]!)) &&
          decimals.every((digits) => /^\d{1,4}0*$/.test(digits)) &&
          groups.join('').replace(/^0+(?=\d)/, '').length <= 12;
        if (isRight) expect(Number(read)).toBe(Number(`${groups.join('')}.${decimals[0] ?? '0'}`));
        else expect(read).toBe('invalid_price');
      }),
      { numRuns: 500 },
    );
  });

  test('that mean nothing are empty, trimmed and case-sensitive', async () => {
    const definition = format({ null_values: ['N/A', ' - '] }, withPrice);
    const rows = await readFormatted('Art,Bezeichnung,Preis\nA,a, N/A \nB,n/a,-\n-,c,5\n', definition);
    expect(rows.map(({ values, codes }) => values ?? codes)).toEqual([
      { sku: 'A', product_name: 'a' },
      { sku: 'B', product_name: 'n/a' },
      ['missing_required'],
    ]);
  });

  test('of availability are mapped if the format knows them, trimmed and case-insensitive', async () => {
    const columns = { ...skuAndName, availability: { from: ['Bestand'] } };
    const availability = { 'Auf Lager': 'in_stock' as const, '0': 'sold_out' as const };
    const file = 'Art,Bezeichnung,Bestand\nA,a, AUF LAGER \nB,b,0\nC,c,Pre-Order\nD,d,ask\n';
    const rows = await readFormatted(file, format({ availability }, columns));
    expect(rows.map(({ values, codes }) => [values?.availability, ...codes])).toEqual([
      ['in_stock'],
      ['sold_out'],
      ['preorder'],
      ['ask', 'unknown_availability'],
    ]);
  });
});

describe('rows', () => {
  const columns = { sku: { from: ['sku'] }, product_name: { join: ['Title', 'Size'], with: ' ' } };
  const definition = format({ fill_down: [{ column: 'product_name', by: 'Handle' }] }, columns);

  test('fill an empty cell from above while the other cell stays the same', async () => {
    const file = [
      'Handle,sku,Title,Size',
      'a,A1,Shirt,S',
      'a,A2,,M',
      'a,A3,Other,L',
      'a,A4, ,XL',
      'b,B1,,S',
      'a,A5,,S',
      ',C1,Hat,S',
      ',C2,,M',
    ].join('\n');
    const rows = await readFormatted(file, definition);
    expect(rows.map(({ values, codes }) => values?.product_name ?? codes[0])).toEqual([
      'Shirt S',
      'Shirt M',
      'Other L',
      'Other XL',
      'incomplete_group',
      'incomplete_group',
      'Hat S',
      'missing_required',
    ]);
  });

  test('without any of certain cells are not rows, but their cells are filled down', async () => {
    const ignoring = { ...definition, ignore_rows_without: ['sku', 'Price', 'Not there'] };
    const file = 'Handle,sku,Title,Size,Price\na,,Shirt,,\na,A2,,M,\na,,,,5\n';
    const rows = await readFormatted(file, ignoring);
    expect(rows.map(({ line, row, values, codes }) => [line, row, values?.product_name ?? codes])).toEqual([
      [3, 1, 'Shirt M'],
      [4, 2, ['missing_required']],
    ]);
  });

  test('are all kept if the file has none of these headers', async () => {
    const ignoring = format({ ignore_rows_without: ['Nowhere'] }, skuAndName);
    expect(await readFormatted('Art,Bezeichnung\nB,\nA,a\n', ignoring)).toHaveLength(2);
  });

  test('of a Shopify export are variants, with the name of their product', async () => {
    const { definition: shopify } = findBuiltInFormat('shopify')!;
    const file = [
      'Handle,Title,Body (HTML),Vendor,Type,Option1 Value,Option2 Value,Variant SKU,Variant Price,Image Src',
      'pot,Clay pot,<p>Round</p>,Acme,Pots,Small,Red,POT-S-R,9.50,1.jpg',
      'pot,,,,,Small,Blue,POT-S-B,9.75,2.jpg',
      'pot,,,,,,,,,3.jpg',
      'rake,Rake,,Acme,,Default Title,,RAKE,24.00,',
    ].join('\r\n');
    expect(await readValues(file, shopify)).toEqual([
      {
        sku: 'POT-S-R',
        product_name: 'Clay pot - Small / Red',
        description: '<p>Round</p>',
        brand: 'Acme',
        category: 'Pots',
        price: '9.50',
      },
      {
        sku: 'POT-S-B',
        product_name: 'Clay pot - Small / Blue',
        description: '<p>Round</p>',
        brand: 'Acme',
        category: 'Pots',
        price: '9.75',
      },
      { sku: 'RAKE', product_name: 'Rake', brand: 'Acme', price: '24.00' },
    ]);
  });

  test('of a Google feed and of an Excel file are read by their formats', async () => {
    const google =
      'g:id\tg:title\tg:price\tg:availability\tg:google_product_category\nA\tLamp\t12.50 USD\tin stock\t42\n';
    expect(await readValues(google, findBuiltInFormat('google-merchant')!.definition)).toEqual([
      {
        sku: 'A',
        product_name: 'Lamp',
        price: '12.50',
        currency: 'USD',
        availability: 'in_stock',
        category: '42',
      },
    ]);
    const excel = 'sku;product_name;price\r\nA;Größe;1.299,00\r\n';
    expect(await readValues(excel, findBuiltInFormat('excel-eu')!.definition)).toEqual([
      { sku: 'A', product_name: 'Größe', price: '1299.00' },
    ]);
  });
});
