import { answer, definitionOf, detect, doubtsOf, fileOf } from '../../../support/detected-format';
import { readFormatted, readValues } from '../../../support/read-by-format';
import type { FormatDefinition } from '../../../../src/feed-format/format-definition';

const loaded = (lines: string[], format = definitionOf(...lines)) => readValues(fileOf(...lines), format);

describe('a file with names in the first row of each group', () => {
  it.each<[string, string[], string]>([
    [
      'Handle ID',
      [
        'Handle ID;Item no.;Product name;Brand;Size;Price EUR',
        'G1;A-1;Tent;Acme;2;10.50',
        'G1;A-2;;;3;12.50',
        'G2;B-1;Lamp;Birch;S;5.00',
        'G2;B-2;;;M;6.00',
      ],
      'Handle ID',
    ],
    [
      'Parent SKU',
      [
        'Parent SKU;SKU;Product name;Brand;Size;Price EUR',
        'P1;A-1;Tent;Acme;2;10.50',
        'P1;A-2;;;3;12.50',
        'P2;B-1;Lamp;Birch;S;5.00',
        'P2;B-2;;;M;6.00',
      ],
      'Parent SKU',
    ],
  ])('is filled down by its %s, with options in the names', async (_, lines, by) => {
    const format = definitionOf(...lines);

    expect(format.fill_down).toEqual(
      expect.arrayContaining([
        { column: 'product_name', by },
        { column: 'brand', by },
      ]),
    );
    const rows = (await loaded(lines)).map(({ sku, product_name, brand, price }) => [
      sku,
      product_name,
      brand,
      price,
    ]);
    expect(rows).toEqual([
      ['A-1', 'Tent - 2', 'Acme', '10.50'],
      ['A-2', 'Tent - 3', 'Acme', '12.50'],
      ['B-1', 'Lamp - S', 'Birch', '5.00'],
      ['B-2', 'Lamp - M', 'Birch', '6.00'],
    ]);
  });

  it('is filled down by a group whose rows are repeated without its name', () => {
    const { draft } = doubtsOf(
      'slug,sku,name,price,currency',
      'tent,T,Tent,9.50,USD',
      'tent,T-1,,9.50,USD',
      'lamp,L,Lamp,5.00,USD',
      'lamp,L-1,,5.00,USD',
      'tent,T,,8.50,EUR',
      'tent,T-1,,8.50,EUR',
      'lamp,L,,4.00,EUR',
      'lamp,L-1,,4.00,EUR',
    );

    expect(draft?.fill_down).toEqual([{ column: 'product_name', by: 'slug' }]);
  });

  it('is not filled down if each group has several names', () => {
    const format = definitionOf(
      'Handle ID,SKU,Product name,Price EUR',
      'G,A-1,Tent,1.50',
      'G,A-2,Lamp,2.50',
      'G,A-3,,3.50',
    );

    expect(format).not.toHaveProperty('fill_down');
  });
});

describe('a name that is missing in some rows', () => {
  it.each([
    ['Stock', ['A,Tent,1.50,3', 'B,Lamp,2.50,0', 'C,,3.50,0']],
    ['Brand', ['A,Tent,1.50,Acme', 'B,,2.50,Acme', 'C,Lamp,3.50,Birch']],
    ['Colour', ['A,Tent,2.50,red', 'B,,2.50,blue', 'C,Lamp,3.50,red']],
  ])('is not the name of another product with the same price or %s', (header, rows) => {
    const format = definitionOf(`Item no.,Product name,Price EUR,${header}`, ...rows);

    expect(format).not.toHaveProperty('fill_down');
  });
});

describe('a sku that repeats with options', () => {
  const lines = [
    'Artikelnummer;Bezeichnung;Größe;Farbe;Preis EUR',
    'A1;Hemd;S;rot;10,50',
    'A1;Hemd;M;rot;10,50',
    'A1;Hemd;S;blau;11,50',
    'B1;Hose;S;blau;12,50',
    ';;L;;',
  ];

  it('is offered joined with them, without the rows of options alone', async () => {
    const { draft, doubts } = detect(fileOf(...lines));
    const [first] = doubts[0]!.choices;
    const joined = answer(draft, first!) as FormatDefinition;

    expect(doubts.map(({ about, code }) => [about, code])).toEqual([['sku', 'repeated_sku']]);
    expect(joined).toMatchObject({
      columns: { sku: { join: ['Artikelnummer', 'Größe', 'Farbe'], with: '-' } },
      ignore_rows_without: ['Artikelnummer'],
    });
    expect(
      (await readFormatted(fileOf(...lines), joined)).map(({ values, codes }) => [values?.sku, codes]),
    ).toEqual([
      ['A1-S-rot', []],
      ['A1-M-rot', []],
      ['A1-S-blau', []],
      ['B1-S-blau', []],
    ]);
  });

  it('is not offered joined with them if its other rows have none', () => {
    const { about, labels } = doubtsOf(
      'Item number,Title,Size,Price EUR',
      'A-S,Shirt,S,1.50',
      'A-M,Shirt,M,1.50',
      'A-S,Shirt,,2.50',
      'A-M,Shirt,,2.50',
    );

    expect(about).toEqual(['rows repeated_sku']);
    expect(labels).toEqual(['Use the last row with the same "Item number"']);
  });

  it('is offered with the rows of a known system that are products, not those of images', () => {
    const shop = [
      'Handle,Title,Variant SKU,Variant Price,Option1 Value,Option2 Value',
      'tent,Tent,,1.50,Default Title,',
      'tent,,,,,',
      'lamp,Lamp,,2.50,S,blue',
      'lamp,,,2.50,M,red',
      'lamp,,,3.50,L,red',
    ];
    const { draft, doubts } = detect(fileOf(...shop));
    const joined = answer(draft, doubts[0]!.choices[0]!) as FormatDefinition;

    expect(joined.columns.sku).toEqual({ join: ['Handle', 'Option1 Value', 'Option2 Value'], with: '-' });
    expect(joined.ignore_rows_without).toContain('Variant Price');
  });

  it('is offered alone too, as the last choice', () => {
    expect(doubtsOf(...lines).labels.at(-1)).toBe('The sku is "Artikelnummer"');
  });
});

describe('products that their shop does not show', () => {
  it.each([
    ['Published', ['1', '0', '1'], ['1']],
    ['Aktiv', ['ja', 'nein', 'ja'], ['ja']],
    ['Visible', ['TRUE', 'FALSE', ''], ['true', '']],
    ['Veröffentlicht', ['1', '-1', '1'], ['1']],
    ['Status', ['', 'tidak dijual', ''], []],
    ['Status', ['A', 'D', 'A'], ['a']],
    ['Status', ['Active', 'discontinued', 'active'], ['active']],
    ['eliminado', ['false', 'true', 'false'], ['false']],
    ['Archived', ['', 'yes', 'no'], ['', 'no']],
  ])('are left out by the column %s of %j', async (header, cells, values) => {
    const lines = [
      `Item no.,Product name,Price EUR,${header}`,
      ...cells.map((cell, at) => `S${at},n,1.50,${cell}`),
    ];

    // Later rows may leave the cell empty.
    expect(definitionOf(...lines).only_rows_where).toEqual([
      { header, values: [...new Set([...values, ''])] },
    ]);
    expect((await loaded(lines)).map(({ sku }) => sku)).toEqual(['S0', 'S2']);
  });

  it.each([
    ['all are shown', 'Published', ['1', '1']],
    ['none is shown', 'Published', ['0', '0']],
    ['a cell has another word', 'Published', ['1', '0', 'search']],
    ['the column is about something else', 'Colour', ['1', '0']],
    ['a state is only a number', 'Status', ['1', '0']],
    ['letters have no contrary', 'Status', ['D', '', 'D']],
    ['products are featured', 'Featured', ['1', '0']],
    ['the column says the contrary', 'Not published', ['1', '0']],
  ])('are no condition if %s', (_, header, cells) => {
    const rows = cells.map((cell, at) => `S${at},n,1.50,${cell}`);

    expect(definitionOf(`Item no.,Product name,Price EUR,${header}`, ...rows)).not.toHaveProperty(
      'only_rows_where',
    );
  });
});

describe('rows for several views of a shop', () => {
  const lines = [
    'Item no.,Store view,Product name,Price EUR',
    'A,de,Zelt,1.50',
    'A,,Tent,1.50',
    'B,de,Lampe,2.50',
    'B,fr,Lampadaire,2.50',
    'B,,Lamp,2.50',
  ];

  it('are a doubt whose first choice is the rows for all views', async () => {
    const { draft, doubts } = detect(fileOf(...lines));
    const names = await Promise.all(
      doubts[0]!.choices.map(async (choice) => {
        const rows = await loaded(lines, answer(draft, choice) as FormatDefinition);
        return rows.map(({ product_name }) => product_name);
      }),
    );

    expect(doubts.map(({ about, code }) => [about, code])).toEqual([['rows', 'repeated_sku']]);
    expect(names).toEqual([
      ['Tent', 'Lamp'],
      ['Zelt', 'Lampe'],
      ['Lampadaire'],
      ['Zelt', 'Tent', 'Lampe', 'Lampadaire', 'Lamp'],
    ]);
  });
});

it('ignores rows of empty cells in a file with our own columns', async () => {
  const others = Array.from({ length: 30 }, (_, at) => `x${at}`).join(',');
  const blank = ','.repeat(32);
  const lines = [`sku,product_name,price,${others}`, `A,Tent,1.50${','.repeat(30)}`, blank, blank];
  const rows = await loaded(lines);

  expect(definitionOf(...lines).ignore_rows_without).toEqual(['sku', 'product_name', 'price']);
  expect(rows.map(({ sku }) => sku)).toEqual(['A']);
});

it('ignores rows that repeat the header', () => {
  const header = 'Item no.,Product name,Price EUR';

  expect(definitionOf(header, 'A,Tent,1.50', header, 'B,Lamp,2.50', header)).not.toHaveProperty(
    'null_values',
  );
});
