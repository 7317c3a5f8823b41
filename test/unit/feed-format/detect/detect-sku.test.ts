import { definitionOf, doubtsOf, headerOf } from '../../../support/detected-format';

describe('detectFormat chooses', () => {
  it.each([
    ['id,name,retailer_sku,vendor_sku', ['1,a,R1,V1', '2,b,R2,V2'], [], 'retailer_sku'],
    [
      'id,name,retailer_sku,vendor_sku',
      ['1,a,R1,V1', '2,b,R2,V2', '2,b,R2,V3'],
      ['sku repeated_sku'],
      undefined,
    ],
    ['name,vendor_sku', ['a,V1', 'b,V2'], [], 'vendor_sku'],
    ['name,sku,Item number', ['a,S1,I1', 'b,S2,I2'], [], 'sku'],
    ['name,Article number,Item number', ['a,S1,I1', 'b,S2,I2'], ['sku several_columns'], undefined],
    ['name,Article number,Item number', ['a,S1,S1', 'b,S2,S2'], [], 'Article number'],
    ['name,Article number,Item number', ['a,S1,I1', 'b,S1,I2'], [], 'Item number'],
    ['ID,Reference,Title', ['1,A-1,a', '2,A-2,b'], [], 'Reference'],
    ['id,name,reference', ['1,a,7.70211E+12', '2,b,7.70211E+12', '3,c,7.70211E+12'], [], 'id'],
    ['Sl.No,Material,Title', ['1,A-1,a', '2,A-2,b', '3,A-3,c'], ['sku unnamed_column'], undefined],
    ['#,Title', ['1,a', '2,b', '3,c'], ['sku unnamed_column'], undefined],
    ['cod_fabrica,cod_venta,Title', ['23,B1,a', '23,B2,b', '24,B3,c'], [], 'cod_venta'],
    ['商品管理番号（商品URL）,RAC番号,商品名', ['A1,,a', 'A2,,b', 'A3,,c'], [], '商品管理番号（商品URL）'],
    ['Identificador de URL;Nombre', ['mesa-a;a', 'mesa-b;b'], [], 'Identificador de URL'],
    ['CODICE ARTICOLO E IMMAGINE PRODOTTO;Titolo', ['A1;a', 'A2;b'], ['sku unnamed_column'], undefined],
    ['ID,Number,Title', ['5001,17,a', '5002,19,b'], ['sku several_columns'], undefined],
    ['Product name,Size,Brand', ['Red shoe,40,A', 'Blue shoe,41,A'], ['sku unnamed_column'], undefined],
    ['retail_sku,sku,Title', ['1,S1,a', '2,S2,b'], [], 'sku'],
    ['Title,parent_sku,SKU code', ['a,P,A', 'b,P,B'], [], 'SKU code'],
    ['Title,EAN', ['a,4006381333931', 'b,4006381333948'], [], 'EAN'],
    ['Title,EAN,SKU code', ['a,4006381333931,A', 'b,4006381333948,B'], [], 'SKU code'],
    ['name,sku', ['a,S1', 'a,S1', 'b,S2', 'b,S2'], [], 'sku'],
    ['name,lang,sku', ['a,en,S1', 'b,en,S2', 'c,fr,S1', 'd,fr,S2'], ['rows repeated_sku'], undefined],
    ['product_name,lang,sku', ['a,en,S1', 'c,fr,S1'], ['rows repeated_sku'], undefined],
  ])('the sku of %j', (header, rows, doubts, sku) => {
    const { draft, about } = doubtsOf(header, ...rows);

    expect([about, headerOf(draft, 'sku')]).toEqual([doubts, sku]);
  });

  it('counts all rows for a sku, not only the first ones', () => {
    const rows = Array.from({ length: 1_000 }, (_, at) => `${at < 800 ? at : at - 200},Name ${at}`);

    expect(doubtsOf('SKU code,Title', ...rows).about).toEqual(['rows repeated_sku']);
  });
});

describe('detectFormat takes for the sku', () => {
  it.each([
    ['an EAN', 'EAN', ['4006381333931', '4006381333948']],
    ['an ISBN', 'ISBN', ['9783161484100', '9780306406157']],
    ['an id', 'id', ['11', '13']],
    ['a handle', 'Handle', ['tent-a', 'lamp-b']],
    ['numbers under the name of an article', 'Artikel', ['4711', '4813']],
  ])('%s if there is nothing better', (_, header, cells) => {
    const rows = cells.map((cell, at) => `${cell},Name ${at},1.50`);

    expect(definitionOf(`${header},Title,Price EUR`, ...rows).columns.sku).toEqual({ from: [header] });
    const better = definitionOf(`${header},Title,Price EUR,SKU`, ...rows.map((row, at) => `${row},S-${at}`));
    expect(better.columns.sku).toEqual({ from: ['SKU'] });
  });

  it('a column with words for missing numbers, which are empty', () => {
    const rows = [
      '4006381333931,Tent,1.50',
      'no barcode,Lamp,2.50',
      'no barcode,Desk,2.50',
      '4006381333948,Bed,3.50',
    ];

    expect(definitionOf('Barcode,Product name,Price EUR', ...rows)).toMatchObject({
      null_values: ['no barcode'],
      columns: { sku: { from: ['Barcode'] } },
    });
  });

  it('no word for missing numbers that is a sku itself', () => {
    const { draft, about } = doubtsOf(
      'Item no.,Product name,Price EUR',
      'LAMP,Lamp,1.50',
      'LAMP,Lamp,2.50',
      'TENT,Tent,3.50',
    );

    expect(draft).not.toHaveProperty('null_values');
    expect(about).toEqual(['rows repeated_sku']);
  });

  it('no column of a report of skipped rows', () => {
    const { columns } = definitionOf('_line,_codes,id,name', '2,x,10,Tent', '3,y,12,Lamp');

    expect(columns.sku).toEqual({ from: ['id'] });
  });

  it('a column that most rows have; another one is a doubt', () => {
    const rows = ['A,4006381333931', ',4006381333948', ',4006381333955', ',4006381333962'];
    const { draft, about, labels } = doubtsOf(
      'Item no.,EAN,Product name',
      ...rows.map((row, at) => `${row},Name ${at}`),
    );

    expect(draft?.columns).not.toHaveProperty('sku');
    expect(about).toEqual(['sku incomplete_column']);
    expect(labels).toEqual(['The sku is "Item no."', 'The sku is "EAN"']);
  });
});

describe('detectFormat takes for the sku a column without a known name', () => {
  it('if only its cells differ in all of many rows, whatever number the rows have', () => {
    const rows = Array.from({ length: 20 }, (_, at) => `${at + 1},M-${at},Tent ${at}`);

    expect(definitionOf('Sl.No,Model,Title', ...rows).columns.sku).toEqual({ from: ['Model'] });
    expect(doubtsOf('Sl.No,Model,Title', ...rows.slice(0, -1)).about).toEqual(['sku unnamed_column']);
  });

  it('as a choice beside a number that repeats', () => {
    const { about, labels } = doubtsOf('Item number,Zorp,Title', 'N1,A-1,a', 'N1,A-2,b', 'N1,A-3,c');

    expect(about).toEqual(['sku repeated_sku']);
    expect(labels).toContain('The sku is "Zorp"');
  });

  it('in a file without header row, if no other has letters and digits', () => {
    const rows = ['BRG001,Oil,25000,35000', 'BRG002,Tube,45000,60000', 'BRG003,Brake pad,30000,45000'];

    expect(doubtsOf(...rows).draft?.columns.sku).toEqual({ position: 1 });
  });
});

describe('detectFormat takes for the name', () => {
  it('a column of texts without a known name if there is no other', () => {
    const { columns } = definitionOf('SKU,Drink,Price EUR', 'A,Castel beer,1.50', 'B,Doppel lager,2.50');

    expect(columns.product_name).toEqual({ from: ['Drink'] });
  });

  it('none of several columns of single words, which are a doubt', () => {
    const { about, labels } = doubtsOf('SKU;Zeile1;Zeile2', 'A;Milch;Frisch', 'B;Apfel;Bio');

    expect(about).toEqual(['product_name unnamed_column']);
    expect(labels).toEqual(['The name is "Zeile1"', 'The name is "Zeile2"']);
  });

  it('no empty column beside a filled description', () => {
    const { columns } = definitionOf('SKU,Name,Description', 'A,,Two-person tent', 'B,,Bright lamp');

    expect(columns.product_name).toEqual({ from: ['Description'] });
  });

  it('a description if there is no other text', () => {
    const { columns } = definitionOf(
      'Item no.,Description,Price EUR',
      'A,Two-person tent,1.50',
      'B,Lamp,2.50',
    );

    expect(columns).toMatchObject({ product_name: { from: ['Description'] } });
    expect(columns).not.toHaveProperty('description');
  });

  it('no description beside a name', () => {
    const { columns } = definitionOf(
      'Item no.,Description,Product name',
      'A,Light and quick to pitch,Tent',
      'B,Bright,Lamp',
    );

    expect(columns).toMatchObject({
      product_name: { from: ['Product name'] },
      description: { from: ['Description'] },
    });
  });
});
