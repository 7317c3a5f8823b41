import { Readable } from 'node:stream';
import fc from 'fast-check';
import { parse } from 'csv-parse/sync';
import { stringify } from 'csv-stringify/sync';
import { decode, encode } from 'iconv-lite';
import { mendFile } from '../../../../src/clients/cli/mend-file';
import { parseRules, type CellChange, type MendOptions } from '../../../../src/clients/cli/mend-rules';

/** Mends a file in chunks of this size. @returns the mended file and the changes */
async function mend(
  file: string | Buffer,
  options: MendOptions & { delimiter?: string; encoding?: string },
  chunkSize = 7,
): Promise<{ bytes: Buffer; text: string; changes: CellChange[] }> {
  const { encoding = 'utf-8', delimiter } = options;
  const source = typeof file === 'string' ? encode(file, encoding) : file;
  const chunks = Array.from({ length: Math.ceil(source.length / chunkSize) }, (_, at) =>
    source.subarray(at * chunkSize, (at + 1) * chunkSize),
  );
  const changes: CellChange[] = [];
  const pieces: Buffer[] = [];
  const form = { encoding, delimiter };
  for await (const piece of mendFile(Readable.from(chunks), form, parseRules(options), (each) =>
    changes.push(...each),
  ))
    pieces.push(piece);
  const bytes = Buffer.concat(pieces);
  return { bytes, text: decode(bytes, encoding, { stripBOM: false }), changes };
}

describe('mendFile', () => {
  it('applies trim, decimal comma, replacement and constant, in this order', async () => {
    const { text, changes } = await mend(
      'sku,Price,availability\nA," 1.299,00 ",auf Lager\nB,12,weg\nC,,\n',
      {
        set: ['currency=EUR', 'price=0'],
        replace: ['availability:auf Lager=in_stock', 'price:1299.00=1300'],
        decimalComma: ['price'],
        trim: true,
      },
    );

    expect(text).toBe('sku,Price,availability,currency\nA,1300,in_stock,EUR\nB,12,weg,EUR\nC,0,,EUR\n');
    expect(changes.filter(({ line }) => line === 2)).toEqual([
      { line: 2, column: 'Price', before: ' 1.299,00 ', after: '1.299,00', rule: '--trim' },
      { line: 2, column: 'Price', before: '1.299,00', after: '1299.00', rule: '--decimal-comma price' },
      {
        line: 2,
        column: 'availability',
        before: 'auf Lager',
        after: 'in_stock',
        rule: '--replace availability:auf Lager=in_stock',
      },
      { line: 2, column: 'Price', before: '1299.00', after: '1300', rule: '--replace price:1299.00=1300' },
      { line: 2, column: 'currency', before: '', after: 'EUR', rule: '--set currency=EUR' },
    ]);
  });

  it.each(['1.299', '12.50', '1,2,3', '12,50 or so', '1.29,00', 'NaN', 'a,b'])(
    'does not change the price %j, for which no rule is certain',
    async (price) => {
      const file = stringify([['price'], [price]]);

      expect((await mend(file, { decimalComma: ['price'] })).text).toBe(file);
    },
  );

  it('keeps unchanged rows byte for byte, with their quotes and line ends', async () => {
    const file = 'a;"b"\r\n"1";x\n\n ; \r\n"2";"y ""z"""\r\n3;"line\r\nbreak"\n4';

    expect((await mend(file, { set: ['a=0'] })).text).toBe(file);
    expect((await mend(file, { replace: ['b:x=x;y'] })).text).toBe(file.replace('"1";x', '1;"x;y"'));
  });

  it('reports the line on which a row begins', async () => {
    const { changes } = await mend('a,b\n\n"1\n2",x\r\n3,x\n', { replace: ['b:x=y'] });

    expect(changes.map(({ line }) => line)).toEqual([3, 5]);
  });

  it('keeps rows with too many cells, which have too many beside an added column too', async () => {
    const { text, changes } = await mend('a,b\n1,2,3\n4\n', { set: ['c=x', 'b=y'] });

    expect(text).toBe('a,b,c\n1,2,3,\n4,y,x\n');
    expect(changes).toHaveLength(2);
  });

  it.each([
    ['windows-1252', 'Größe;Preis\ngrün;1,50\n'],
    ['utf-16le', '\ufeffGröße;Preis\n茶;1,50\n'],
    ['shift_jis', '品番;Preis\n茶;1,50\n'],
    ['windows-1256', 'الاسم;Preis\nشاي;1,50\n'],
    ['utf-8', '\ufeffGröße;Preis\n茶;1,50\n'],
  ])('keeps encoding, mark and delimiter: %s', async (encoding, file) => {
    const { text } = await mend(file, { encoding, decimalComma: ['preis'] }, 1);

    expect(text).toBe(file.replace('1,50', '1.50'));
  });

  it.each([',', ';', '\t', '|'])('finds the delimiter %j', async (delimiter) => {
    const file = `"a,b,c;d"${delimiter}price${delimiter}c\n1${delimiter}"1,5"${delimiter}2\n`;

    expect((await mend(file, { decimalComma: ['price'] })).text).toBe(file.replace('"1,5"', '1.5'));
  });

  it.each<[string, string | Buffer, MendOptions & { encoding?: string }, string]>([
    ['without a rule', 'a\n', {}, 'Missing rule: --trim, --decimal-comma, --replace or --set.'],
    [
      'with a wrong replacement',
      'a\n',
      { replace: ['a=b'] },
      'Wrong --replace "a=b": it must be COLUMN:FROM=TO.',
    ],
    ['with a wrong constant', 'a\n', { set: ['=b'] }, 'Wrong --set "=b": it must be COLUMN=VALUE.'],
    ['with a column that it lacks', 'a\n1\n', { decimalComma: ['price'] }, 'The file has no column price.'],
    [
      'in an unknown encoding',
      Buffer.from('a\n'),
      { trim: true, encoding: 'klingon' },
      'Unknown encoding: klingon.',
    ],
    [
      'in another encoding',
      encode('Größe\n', 'windows-1252'),
      { trim: true },
      'The file is not text in utf-8: name its encoding with --encoding.',
    ],
    [
      'with a value that its encoding lacks',
      'a\n1\n',
      { replace: ['a:1=茶'], encoding: 'windows-1252' },
      'A value has characters that windows-1252 does not have.',
    ],
    ['that is empty', '\n', { trim: true }, 'The file is empty.'],
    [
      'with a quote that is not closed',
      'a\n"1\n',
      { trim: true },
      expect.stringMatching(/^The file is not CSV: /) as string,
    ],
  ])('rejects a file %s', async (_, file, options, message) => {
    await expect((async () => mend(file, options))()).rejects.toMatchObject({ exitCode: 2, message });
  });

  it('changes only the declared cells, for any file', async () => {
    const cell = fc.string({
      unit: fc.constantFrom('a', '1', ',', ';', '"', '\n', '\r', ' ', 'é'),
      maxLength: 6,
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(cell, cell, cell), { maxLength: 8 }),
        fc.integer({ min: 1, max: 20 }),
        fc.boolean(),
        async (rows, chunkSize, quoted) => {
          const file = stringify([['a', 'b', 'c'], ...rows], { quoted, quoted_match: /[\r\n]/ });

          const { text, changes } = await mend(file, { set: ['b=x'], trim: true }, chunkSize);

          const isBlank = (row: readonly string[]) => row.every((each) => each.trim() === '');
          const expected = rows.map((row) =>
            isBlank(row) ? row : row.map((each, at) => each.trim() || (at === 1 ? 'x' : '')),
          );
          expect(parse(text).slice(1)).toEqual(expected);
          expect(changes.length === 0).toBe(text === file);
        },
      ),
    );
  });
});
