import fc from 'fast-check';
import { findBuiltInFormat } from '../../../../src/feed-format/built-in-formats';
import { recordBytes } from '../../../../src/feed-format/columns';
import type { FormatDefinition } from '../../../../src/feed-format/format-definition';
import { casesFor } from '../../../support/fuzz';
import { readFormatted, readValues } from '../../../support/read-by-format';

const headers = ['handle', 'title', 'brand', 'size', 'sku'] as const;
type Header = (typeof headers)[number];
type Cells = Record<Header, string>;

const definition: FormatDefinition = {
  delimiter: ',',
  columns: {
    sku: { from: ['sku'] },
    product_name: { join: ['title', 'size'], with: '/' },
    brand: { from: ['brand'] },
  },
  fill_down: [
    { column: 'product_name', by: 'handle' },
    { column: 'brand', by: 'handle' },
  ],
  ignore_rows_without: ['sku'],
};

/** Damage of a row: an extra field at its end, an extra delimiter or quote in a cell, or a quote that spans lines. */
const anyDamage = fc.option(
  fc.record({
    kind: fc.constantFrom('field', 'delimiter', 'quote', 'lines'),
    cell: fc.constantFrom(...headers),
  }),
  { freq: 3 },
);
const anyRow = fc.record({
  title: fc.constantFrom('', '', '', 'Pot'),
  brand: fc.constantFrom('', '', '', 'Acme'),
  size: fc.constantFrom('S', 'M', ''),
  isRow: fc.constantFrom(true, true, true, false),
  damage: anyDamage,
});
const anyGroup = fc.record({
  handle: fc.constantFrom('a', 'b', 'c', ''),
  title: fc.constantFrom('Mug', 'Tent', ''),
  brand: fc.constantFrom('', 'Bolt'),
  damage: anyDamage,
  rows: fc.array(anyRow, { maxLength: 4 }),
});

interface Row {
  cells: Cells;
  damage: { kind: string; cell: Header } | null;
}

/** The rows of groups as intended by their author. A name below another one of its group has a brand. */
function rowsOf(
  groups: { handle: string; title: string; brand: string; rows: object[]; damage: unknown }[],
): Row[] {
  const rows: Row[] = [];
  for (const { handle, rows: others, ...first } of groups) {
    for (const row of [{ ...first, size: 'S', isRow: true }, ...others]) {
      const { title, brand, size, isRow, damage } = row as Cells & { isRow: boolean } & Pick<Row, 'damage'>;
      const continues = handle !== '' && rows.at(-1)?.cells.handle === handle;
      const ownBrand = title !== '' && continues ? brand || 'Kiln' : brand;
      const sku = isRow ? `S${rows.length}` : '';
      rows.push({ cells: { handle, title, brand: ownBrand, size, sku }, damage });
    }
  }
  return rows;
}

function textOf({ cells, damage }: Row, order: readonly Header[]): string {
  const texts = order.map((header) => {
    const text = cells[header];
    if (damage?.cell !== header) return text;
    return { delimiter: `${text}x, y`, quote: `"${text}" z`, lines: `"${text}\na,,"z` }[damage.kind] ?? text;
  });
  // The last cell is never empty: an extra field would be a delimiter at the end, which is not a field.
  return [...texts, 'end', ...(damage?.kind === 'field' ? ['more'] : [])].join(',');
}

/** The intended values of a row without damage, and whether they can be determined. */
function meaningsOf(rows: readonly Row[], order: readonly Header[]) {
  const filled = (['handle', 'title', 'brand'] as const).map((name) => order.indexOf(name));
  const from = Math.min(...filled);
  const to = Math.max(...filled);
  let title = '';
  let brand = '';
  let isKnown = false;
  return rows.map(({ cells, damage }, at) => {
    const isNew = cells.handle === '' || rows[at - 1]?.cells.handle !== cells.handle;
    if (isNew) {
      title = '';
      brand = '';
      isKnown = false;
    }
    title = cells.title || title;
    brand = cells.brand || brand;
    if (!damage) isKnown ||= cells.title !== '';
    else {
      const place = damage.kind === 'field' ? order.length : order.indexOf(damage.cell);
      // Before them, an extra delimiter would shift them.
      const isOutside = place > to || (place < from && damage.kind === 'quote');
      const isEmpty = order.slice(from, to + 1).every((name) => name === 'handle' || cells[name] === '');
      isKnown &&= isOutside && isEmpty && damage.kind !== 'lines';
    }
    const name = title && [title, cells.size].filter(Boolean).join('/');
    return { name: name || undefined, brand: brand || undefined, isKnown };
  });
}

const anyFile = fc.tuple(
  fc.array(anyGroup, { minLength: 1, maxLength: 5 }).map(rowsOf),
  fc.shuffledSubarray([...headers], { minLength: headers.length }),
);

/** Reads the rows as a file. @returns the results of the undamaged rows, by position */
async function readRows(rows: Row[], order: Header[], mode: 'upsert' | 'update') {
  const texts = rows.map((row) => textOf(row, order));
  const read = await readFormatted([[...order, 'end'].join(','), ...texts].join('\n'), definition, {
    chunkSizes: [7],
    mode,
  });
  const byLine = new Map(read.map((row) => [row.line, row]));
  let line = 2;
  return texts.flatMap((text, at) => {
    const row = byLine.get(line);
    line += text.split('\n').length;
    if (rows[at]!.damage) expect(row?.values).toBeUndefined();
    return rows[at]!.damage || rows[at]!.cells.sku === ''
      ? []
      : [{ at, values: row!.values, codes: row!.codes }];
  });
}

describe('cells that are filled down', () => {
  it('have the intended values if these can be determined; all other rows are skipped, with any damage', async () => {
    await fc.assert(
      fc.asyncProperty(anyFile, async ([rows, order]) => {
        const meanings = meaningsOf(rows, order);
        for (const { at, values, codes } of await readRows(rows, order, 'upsert')) {
          const { name, brand, isKnown } = meanings[at]!;
          const { handle, sku } = rows[at]!.cells;
          if (isKnown) expect({ ...values }).toEqual({ sku, product_name: name, ...(brand && { brand }) });
          else expect(codes).toEqual([handle === '' ? 'missing_required' : 'incomplete_group']);
        }
      }),
      casesFor('filling down', 200),
    );
  });

  it('do not change values in mode update if they cannot be determined', async () => {
    await fc.assert(
      fc.asyncProperty(anyFile, async ([rows, order]) => {
        const meanings = meaningsOf(rows, order);
        for (const { at, values } of await readRows(rows, order, 'update')) {
          const { name, brand, isKnown } = meanings[at]!;
          expect(values).toBeDefined();
          const { product_name: readName = '', brand: readBrand } = values!;
          expect([name, ...(isKnown ? [] : [''])]).toContain(readName);
          expect([brand, ...(isKnown || rows[at]!.cells.handle === '' ? [] : [''])]).toContain(readBrand);
        }
      }),
      casesFor('filling down in updates', 100),
    );
  });

  const { definition: shopify } = findBuiltInFormat('shopify')!;
  const shopifyRows = (...rows: string[]) =>
    readFormatted(
      ['Handle,Title,Body (HTML),Vendor,Type,Option1 Value,Variant SKU,Variant Price', ...rows].join('\n'),
      shopify,
    );
  const member = 'mug,,,,,Big,M-2,6.00';

  it.each([
    ['text follows a quote', 'mug,"Mug"s,Nice,Acme,Pots,Small,M-1,5.00'],
    ['a field is too many', 'mug,Mug,Nice,Acme,Pots,Small,M-1,5.00,x,y'],
    ['it is too long', `mug,Mug,"${'x'.repeat(recordBytes)}",Acme,Pots,Small,M-1,5.00`],
    ['it has no name', 'mug,,Nice,Acme,Pots,Small,M-1,5.00'],
    ['another group is between them', 'mug,Mug,Nice,Acme,Pots,Small,M-1,5.00\npot,Pot,,,,,P,1'],
  ])('have no own values when the group begins in a row and %s', async (_what, beginning) => {
    const rows = await shopifyRows(beginning, member, 'mug,Cup,,,,Wide,M-3,7.00', 'mug,,,,,Low,M-4,8.00');

    const [second, third, fourth] = rows.slice(-3);
    expect(second).toMatchObject({ values: undefined, codes: ['incomplete_group'] });
    expect(second!.messages[0]).toMatch(/^product_name is missing: the row takes it /);
    expect([third, fourth].map((row) => row!.values?.product_name)).toEqual(['Cup - Wide', 'Cup - Low']);
  });

  it('are known below a damaged row whose empty cells show that it belongs to the group', async () => {
    const rows = await shopifyRows(
      'mug,Mug,Nice,Acme,Pots,Small,M-1,5.00',
      'mug,,,,,"Mid"dle,M-3,5.50',
      'mug,,,,,Huge,M-4,9.00,x,y',
      member,
    );

    expect(rows.at(-1)!.values).toMatchObject({ product_name: 'Mug - Big', brand: 'Acme', category: 'Pots' });
  });

  it('are missing below a row that may have begun the group, also if the name is in each row', async () => {
    const { product_name: _, ...columns } = definition.columns;
    const branded = {
      columns: { ...columns, product_name: { from: ['size'] } },
      fill_down: [{ column: 'brand' as const, by: 'handle' }],
    };
    const file = ['handle,brand,size,sku', 'a,"Ac"me,S,1', 'a,,M,2', 'a,Acme,L,3', 'a,,XL,4', 'b,,S,5'].join(
      '\n',
    );

    const rows = await readFormatted(file, branded);
    expect(rows.map(({ values, codes }) => values?.brand ?? codes[0])).toEqual([
      'invalid_quoting',
      'incomplete_group',
      'Acme',
      'Acme',
      undefined,
    ]);
    const [, second] = await readFormatted(file, branded, { mode: 'update' });
    expect(second!.values).toEqual({ sku: '2', product_name: 'M', brand: '' });
  });

  it('of a join are needed for a name and a sku, but not for other texts', async () => {
    const joined = (column: string): FormatDefinition => ({
      columns: {
        sku: { from: ['sku'] },
        product_name: { from: ['name'] },
        [column]: { join: ['first', 'second'], with: '-' },
      },
      fill_down: [{ column: column as 'sku', by: 'group' }],
    });
    const file = 'group,sku,name,first,second\na,1,x,,II\n,2,y,,II\n';
    const outcomes = async (column: string) =>
      (await readFormatted(file, joined(column))).map(({ values, codes }) => values?.category ?? codes[0]);

    expect(await outcomes('product_name')).toEqual(['incomplete_group', 'missing_required']);
    expect(await outcomes('sku')).toEqual(['incomplete_group', 'missing_required']);
    expect(await outcomes('category')).toEqual(['II', 'II']);
  });

  it('of a join are needed in the header too, and without the header of the group', async () => {
    const rest = 'Handle,Option1 Value,Variant SKU\nmug,Big,M-2\n';
    await expect(readFormatted(rest, shopify)).rejects.toThrow('Missing required CSV headers: Title');
    expect(await readValues(rest, shopify, { mode: 'update' })).toEqual([{ sku: 'M-2' }]);

    const ungrouped = await readFormatted('Title,Option1 Value,Variant SKU\nMug,S,M-1\n,Big,M-2\n', shopify);
    expect(ungrouped.map(({ values, codes }) => values?.product_name ?? codes[0])).toEqual([
      'Mug - S',
      'missing_required',
    ]);
  });

  it('are not taken from the row above in a file of rejects, where each row has its own', async () => {
    const file = [
      '_line,_codes,handle,title,brand,size,sku',
      '2,invalid_price,a,Mug,Acme,S,1',
      '9,invalid_price,a,Tent,,S,2',
      '14,incomplete_group,a,,,M,3',
      '17,too_many_fields,a,Pot,,L,4',
    ].join('\n');

    const rows = await readFormatted(file, definition);
    expect(rows.map(({ values, codes }) => values ?? codes)).toEqual([
      { sku: '1', product_name: 'Mug/S', brand: 'Acme' },
      { sku: '2', product_name: 'Tent/S' },
      ['incomplete_group'],
      { sku: '4', product_name: 'Pot/L' },
    ]);
  });
});
