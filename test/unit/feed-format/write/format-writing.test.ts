import fc from 'fast-check';
import { clean } from '../../../../src/feed-format/clean-cell';
import type { FormatDefinition } from '../../../../src/feed-format/format-definition';
import {
  FormatWriter,
  UnwritableValue,
  type WrittenValues,
} from '../../../../src/feed-format/write/format-writing';
import { casesFor } from '../../../support/fuzz';
import { readFormatted } from '../../../support/read-by-format';

const none: WrittenValues = {
  sku: 'A',
  product_name: 'a',
  description: null,
  brand: null,
  category: null,
  price: null,
  currency: null,
  availability: null,
};

const columns: FormatDefinition['columns'] = {
  sku: { from: ['Nr'] },
  product_name: { from: ['Name'] },
  brand: { join: ['Marke', 'Linie'], with: ' ' },
};

/** Writes products that the format can express, and reads them. */
async function writeAndRead(definition: FormatDefinition, products: WrittenValues[]) {
  const writer = new FormatWriter(definition);
  const written: WrittenValues[] = [];
  const records: string[][] = [];
  for (const product of products) {
    const cells = writer.checkedCells(product);
    if (cells instanceof UnwritableValue) continue;
    written.push(product);
    records.push(cells);
  }
  const file = Buffer.concat([writer.beginning(), writer.records(records)]);
  return { written, file, read: await readFormatted(file, definition) };
}

const text = fc.string({
  unit: fc.constantFrom("'", '=', '+', '-', '@', '"', ',', ';', '\n', '\r', '7', 'a', ' ', 'é'),
  minLength: 1,
  maxLength: 7,
});
const sku = text.map(clean.sku).filter((value) => value !== null);
const product = fc.record({
  ...Object.fromEntries(Object.keys(none).map((column) => [column, fc.constant(null)])),
  sku,
  product_name: text.map(clean.product_name).filter((value) => value !== null),
  brand: fc.option(text.map(clean.brand), { nil: null }),
}) as fc.Arbitrary<WrittenValues>;
const products = fc.uniqueArray(product, { maxLength: 5, selector: (each) => each.sku });

const definition = fc.record(
  {
    delimiter: fc.constantFrom(',', ';', '\t', '|'),
    quote: fc.constantFrom('"', 'none'),
    text_marks: fc.constant('strip' as const),
    null_values: fc.constantFrom<string[]>(['-'], ['=', "'"]),
    only_rows_where: fc.constantFrom<NonNullable<FormatDefinition['only_rows_where']>>(
      [{ header: 'Status', values: ['=aktiv', ''] }],
      [
        { header: 'Status', values: ['', 'x'], by: 'Nr' },
        { header: 'Typ', values: ['x'] },
      ],
      [{ header: 'Linie', values: ['x'] }],
    ),
    columns: fc.constant(columns),
  },
  { requiredKeys: ['columns'] },
);

describe('FormatWriter', () => {
  it('writes products so that the format reads the same values, or says that it cannot', async () => {
    await fc.assert(
      fc.asyncProperty(definition, products, async (format, any) => {
        const { written, read } = await writeAndRead(format, any);
        const values = written.map(({ sku: own, product_name, brand }) => ({
          sku: own,
          product_name,
          ...(brand !== null && { brand }),
        }));
        expect(read.map((row) => row.values)).toEqual(values);
      }),
      casesFor('written products', 200),
    );
  });

  it('writes the marks of a format, also before a mark that is part of the value', async () => {
    const format = { columns, text_marks: 'strip' as const };
    const { file, read } = await writeAndRead(format, [
      { ...none, sku: '007', product_name: '=1+1', brand: "'@x" },
    ]);
    expect(file.toString()).toBe("Nr,Name,Marke\n'007,'=1+1,''@x\n");
    expect(read[0]!.values).toEqual({ sku: '007', product_name: '=1+1', brand: "'@x" });
  });

  it('writes the first value of each condition, but not under a header that a column reads, or of an alternative', async () => {
    const only_rows_where = [
      { header: 'Status', values: ['aktiv', 'neu'] },
      { header: 'State', values: ['aktiv', 'neu'] },
      { header: 'status', values: ['aktiv', 'neu'], by: 'Nr' },
      { header: 'linie', values: ['x'] },
    ];
    const { file, read } = await writeAndRead({ columns, only_rows_where }, [none]);
    expect(file.toString()).toBe('Nr,Name,Marke,Status\nA,a,,aktiv\n');
    expect(read).toHaveLength(1);
  });

  it.each(['a,b', 'a\nb', 'a\rb'])(
    'names a value that cannot be written without quotes: %j',
    (product_name) => {
      const writer = new FormatWriter({ columns, quote: 'none' });
      expect(writer.checkedCells({ ...none, product_name })).toEqual(
        new UnwritableValue('product_name', 'has a delimiter or line break, and the format has no quotes'),
      );
      expect(writer.checkedCells({ ...none, product_name: '12" "x"' })).toEqual(['A', '12" "x"', '']);
    },
  );

  it('names a row that the value of a column would leave out', () => {
    const writer = new FormatWriter({ columns, only_rows_where: [{ header: 'Name', values: ['b'] }] });
    expect(writer.checkedCells(none)).toEqual(
      new UnwritableValue('sku', 'is in a row that the format leaves out'),
    );
  });
});
