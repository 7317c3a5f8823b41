import { findBuiltInFormat } from '../../../../src/feed-format/built-in-formats';
import type { FormatDefinition } from '../../../../src/feed-format/format-definition';
import { fieldOfHeader, unmappedColumns } from '../../../../src/feed-format/detect/unmapped-headers';

const german: FormatDefinition = {
  columns: { sku: { from: ['Artikelnummer'] }, product_name: { from: ['Bezeichnung'] } },
};

const found = (definition: FormatDefinition, names: string[]) =>
  Object.fromEntries(unmappedColumns({ format: { definition } as never }, names));

it.each([
  ['Marke', 'brand'],
  ['Price', 'price'],
  ['Währung', 'currency'],
  ['Farbe', undefined],
  ['Status', undefined],
  ['', undefined],
])('takes the header %j for the field %s', (header, field) => {
  expect(fieldOfHeader(header)).toBe(field);
});

describe('unmapped columns', () => {
  it('are those that could be a field which the format lacks', () => {
    const names = ['Artikelnummer', 'Bezeichnung', 'Marke', 'Farbe', 'Preis', '_marke', ''];
    expect(found(german, names)).toEqual({ 2: 'brand', 4: 'price' });
  });

  it('are not those of a field that the format reads elsewhere, even if the file lacks its header', () => {
    const mapped = { ...german, columns: { ...german.columns, brand: { from: ['Brand'] } } };
    expect(found(mapped, ['Artikelnummer', 'Bezeichnung', 'Marke'])).toEqual({});
  });

  it('are not those that any member of the format names', () => {
    const names = ['Artikelnummer', 'Bezeichnung', 'MARKE', 'Kategorie', 'Preis'];
    const grouped: FormatDefinition = {
      columns: { ...german.columns, product_name: { join: ['Bezeichnung', 'Preis'], with: ' ' } },
      fill_down: [{ column: 'product_name', by: 'Marke' }],
      ignore_rows_without: ['Kategorie'],
    };
    expect(found(grouped, names)).toEqual({});
  });

  it('do not exist without a format, with the format standard, and without a header row', () => {
    const names = ['sku', 'product_name', 'Marke'];
    const { definition } = findBuiltInFormat('standard')!;
    const headless: FormatDefinition = {
      header: false,
      columns: { sku: { position: 1 }, product_name: { position: 2 } },
    };
    expect(found({ ...definition, strict: true } as FormatDefinition, names)).toEqual({});
    expect(found(definition, names)).toEqual({});
    expect(found(headless, names)).toEqual({});
  });
});
