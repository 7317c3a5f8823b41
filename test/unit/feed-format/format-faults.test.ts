import { builtInFormats, findBuiltInFormat } from '../../../src/feed-format/built-in-formats';
import { definitionFaults } from '../../../src/feed-format/format-faults';

const sku = { from: ['Nr'] };
const faultsOf = (definition: unknown) =>
  definitionFaults(definition).map(({ loc, type }) => `${loc.slice(1).join('.')}: ${type}`);

describe('definitionFaults', () => {
  it.each(builtInFormats)('finds none in the built-in format $name', ({ definition }) => {
    expect(faultsOf(definition)).toEqual([]);
  });

  it.each<readonly [string, unknown]>([
    [
      'a definition with every member',
      { columns: { sku, brand: { join: ['A'], with: '' } }, fill_down: [{ column: 'brand', by: 'A' }] },
    ],
    [
      'positions without header row',
      { header: false, fields: 2, columns: { sku: { position: 2 }, currency: { value: ' eur ' } } },
    ],
    ['a constant that clears a column', { columns: { sku, brand: { value: '' } } }],
    ['one header for two columns', { columns: { sku, product_name: sku } }],
    [
      'values of other shapes, which the schema reports',
      {
        columns: { sku: [], price: null, brand: 3 },
        fill_down: 'x',
        availability: [],
        header: 'no',
        only_rows_where: [{ values: [null, null] }, { values: 'x' }, 3],
      },
    ],
    ['a column that the schema refuses', { columns: { sku, color: {} } }],
    ...[null, 1, 'text', [], undefined].map((value) => [`the body ${JSON.stringify(value)}`, value] as const),
  ])('finds none in %s', (_what, definition) => {
    const faults = faultsOf(definition).filter((fault) => !fault.endsWith('one_source'));
    expect(faults).toEqual([]);
  });

  it.each<[string, object, string[]]>([
    ['no source', { columns: { sku: {} } }, ['columns.sku: one_source']],
    [
      'two sources',
      { columns: { sku: { from: ['a'], join: ['b'], with: '' } } },
      ['columns.sku: one_source'],
    ],
    ['join without with', { columns: { sku: { join: ['a'] } } }, ['columns.sku.with: missing']],
    [
      'with without join',
      { columns: { sku: { ...sku, with: ' ', first_with: '-' } } },
      ['columns.sku.with: only_with_join', 'columns.sku.first_with: only_with_join'],
    ],
    [
      'a position with a header row',
      { columns: { sku: { position: 1 } } },
      ['columns.sku.position: not_with_header'],
    ],
    ['a number of fields with a header row', { columns: { sku }, fields: 3 }, ['fields: not_with_header']],
    [
      'fewer fields than a position',
      { header: false, columns: { sku: { position: 4 }, brand: { position: 2 } }, fields: 3 },
      ['fields: greater_than_equal'],
    ],
    [
      'headers without a header row',
      {
        header: false,
        columns: { sku, brand: { join: ['a'], with: '' } },
        fill_down: [{ column: 'brand', by: 'a' }],
        ignore_rows_without: ['a'],
        only_rows_where: [{ header: 'a', values: ['x'] }],
      },
      [
        'columns.sku.from: not_without_header',
        'columns.brand.join: not_without_header',
        'fill_down: not_without_header',
        'ignore_rows_without: not_without_header',
        'only_rows_where: not_without_header',
      ],
    ],
    [
      'a quantity beside another source, and with blank headers',
      {
        columns: {
          sku,
          availability: { from: ['a'], quantity: { from: [' '], unless: [{ header: ' ', values: [''] }] } },
        },
      },
      [
        'columns.availability: one_source',
        'columns.availability.quantity.from.0: string_blank',
        'columns.availability.quantity.unless.0.header: string_blank',
      ],
    ],
    [
      'a quantity of another column',
      { columns: { sku, brand: { quantity: { from: ['a'] } } } },
      ['columns.brand.quantity: only_for_availability'],
    ],
    [
      'a quantity without a header row',
      { header: false, columns: { sku: { position: 1 }, availability: { quantity: { from: ['a'] } } } },
      ['columns.availability.quantity: not_without_header'],
    ],
    [
      'an empty constant for the availability',
      { columns: { sku, availability: { value: ' ' } } },
      ['columns.availability.value: string_blank'],
    ],
    ['a constant sku', { columns: { sku: { value: 'A' } } }, ['columns.sku.value: constant_sku']],
    [
      'a wrong currency',
      { columns: { sku, currency: { value: 'Euro' } } },
      ['columns.currency.value: currency_code'],
    ],
    [
      'blank headers',
      {
        columns: { sku: { from: ['a', ' '] } },
        fill_down: [{ column: 'sku', by: '\u00a0' }],
        ignore_rows_without: ['\t'],
        only_rows_where: [{ header: ' ', values: [''], by: '\n' }],
      },
      [
        'columns.sku.from.1: string_blank',
        'ignore_rows_without.0: string_blank',
        'fill_down.0.by: string_blank',
        'only_rows_where.0.header: string_blank',
        'only_rows_where.0.by: string_blank',
      ],
    ],
    [
      'filling down what there is not, or twice',
      {
        columns: { sku },
        fill_down: [
          { column: 'brand', by: 'a' },
          { column: 'sku', by: 'a' },
          { column: 'sku', by: 'b' },
          { column: 'sku', by: ' A' },
        ],
      },
      ['fill_down.0.column: column_missing', 'fill_down.3.column: repeated'],
    ],
    [
      'words that are alike',
      { columns: { sku }, availability: { Ja: 'in_stock', ' JA\u00a0': 'sold_out', '': 'in_stock' } },
      ['availability. JA\u00a0: repeated', 'availability.: string_blank'],
    ],
    [
      'two conditions on one header and group, values that are alike, and a value that is a null word',
      {
        columns: { sku },
        null_values: ['-'],
        only_rows_where: [
          { header: 'Status', values: ['Ja', ' ja', '', '\u00a0'] },
          { header: 'Status', values: ['ja'], by: 'Nr' },
          { header: ' STATUS ', values: ['-'], by: 'nr' },
        ],
      },
      [
        'only_rows_where.0.values.1: repeated',
        'only_rows_where.0.values.3: repeated',
        'only_rows_where.2.header: repeated',
        'only_rows_where.2.values.0: null_value',
      ],
    ],
    [
      'NUL characters',
      { columns: { sku: { from: ['a\0'] } }, availability: { '\0': 'in_stock' } },
      ['columns.sku.from.0: string_nul', 'availability.\0: string_nul'],
    ],
  ])('finds %s', (_what, definition, faults) => {
    expect(faultsOf(definition)).toEqual(faults);
  });
});

describe('built-in formats', () => {
  it('are found by their exact names only', () => {
    expect(builtInFormats.map(({ name }) => name)).toEqual(builtInFormats.map(({ name }) => name).toSorted());
    expect(findBuiltInFormat('shopify')?.definition.columns.sku).toEqual({ from: ['Variant SKU', 'SKU'] });
    expect(findBuiltInFormat('Shopify')).toBeUndefined();
    expect(findBuiltInFormat('constructor')).toBeUndefined();
  });
});
