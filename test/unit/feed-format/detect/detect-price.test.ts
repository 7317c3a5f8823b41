import { definitionOf, doubtsOf, headerOf } from '../../../support/detected-format';

describe('detectFormat has a doubt about', () => {
  it.each([
    [
      'Item code,Item name,Cost,RRP in EUR',
      ['A,a,4.10,9.99', 'B,b,12.00,29.90'],
      ['unsure_column'],
      undefined,
    ],
    ['SKU;Name;Preis (EK);Preis (VK)', ['A;a;4,10;9,99', 'B;b;12,00;29,90'], [], 'Preis (VK)'],
    ['SKU;Name;Einkaufspreis', ['A;a;4,10'], [], undefined],
    ['SKU;Name;EK netto;Verkaufspreis', ['A;a;4,10;9,99'], [], 'Verkaufspreis'],
    ['SKU;Name;Wholesale price;Price', ['A;a;4.10;9.99'], [], 'Price'],
    ['SKU;Nom;Prix d’achat;Prix', ['A;a;4,10;9,99'], [], 'Prix'],
    ['SKU;Nom;Montant', ['A;a;4', 'B;b;12'], ['unsure_column'], undefined],
    ['SKU;Name;Our price;Price', ['A;a;4.10;9.99'], [], 'Our price'],
    ['SKU;Name;Price;Sale price', ['A;a;4.10;3.99'], [], 'Price'],
    ['SKU;Name;Sale price', ['A;a;4.10'], ['unsure_column'], undefined],
    ['SKU;Name;UVP', ['A;a;4,10'], ['unsure_column'], undefined],
    ['SKU;Name;Compare-at price', ['A;a;4.10'], ['unsure_column'], undefined],
    ['SKU;Name;Nettopreis;Bruttopreis', ['A;a;4,10;4,88'], ['several_columns'], undefined],
    ['SKU;Name;VK netto;Preis brutto', ['A;a;4,10;4,88'], ['several_columns'], undefined],
    ['SKU;Name;price_eur;price_usd', ['A;a;4.10;4.88'], ['several_columns'], undefined],
    ['SKU;Name;VK;VK_2', ['A;a;4,10;4,88'], ['several_columns'], undefined],
    ['SKU;Name;VK;VK_2', ['A;a;4,10;4,10'], [], 'VK'],
    ['SKU;Name;Price (tax excl.);Price (tax incl.)', ['A;a;4.10;4.1'], [], 'Price (tax incl.)'],
    ['SKU;Name;Vendors/Price;Sale total ex GST', ['A;a;4.10;5.10'], ['unsure_column'], undefined],
    ['SKU;Name;Price per kg;Price', ['A;a;4.10;4.88'], [], 'Price'],
    ['SKU;Name;Tarif X', ['A;a;4.10', 'B;b;5.10'], ['unsure_column'], undefined],
    ['SKU;Name;Zorp', ['A;a;4.10', 'B;b;5.10'], ['unnamed_column'], undefined],
    ['SKU;Name;Menge;Weight', ['A;a;4;5'], [], undefined],
    ['SKU;Nombre;precioa;preciob', ['A;a;4.10;5.10', 'B;b;5.10;6.10'], ['unsure_column'], undefined],
    ['SKU;Name;Price B', ['A;a;4.10', 'B;b;5.10'], ['unsure_column'], undefined],
    ['SKU;Name;Price (1000 pcs)', ['A;a;4.10', 'B;b;5.10'], ['unsure_column'], undefined],
    ['SKU;Name;Price;Our price', ['A;a;4.10;', 'B;b;5.10;4.90'], [], 'Our price'],
    ['SKU;Nome;Prezzo 15ml;Prezzo 30ml', ['A;a;4.10;5.10', 'B;b;5.10;6.10'], ['unsure_column'], undefined],
    ['SKU;Name;Price [2525 Mini Shop]', ['A;a;4.10', 'B;b;5.10'], [], 'Price [2525 Mini Shop]'],
    ['sku;name;retail_sku', ['A;a;4', 'B;b;5'], [], undefined],
    [
      'SKU;Name;Zorp',
      ['A;a;4', ...Array.from({ length: 9 }, (_, at) => `B${at};b;\\N`)],
      ['unnamed_column'],
      undefined,
    ],
  ])('the price of %j', (header, rows, codes, price) => {
    const { draft, about } = doubtsOf(header, ...rows);

    expect(about.filter((each) => each.startsWith('price'))).toEqual(codes.map((code) => `price ${code}`));
    expect(headerOf(draft, 'price')).toBe(price);
  });

  it('offers each column that may contain the price, no column with costs, and to omit the price', () => {
    const { labels } = doubtsOf('SKU,Name,Cost,RRP,MSRP', 'A,a,1.00,5.00,6.00');

    expect(labels.slice(-3)).toEqual(['The price is "RRP"', 'The price is "MSRP"', 'Leave the price out']);
  });
});

describe('detectFormat takes for no price', () => {
  it.each([
    'Cost price',
    'Purchase price',
    'Preis (EK)',
    'Einkaufspreis',
    'Precio costo',
    'Prix d’achat',
    'Wholesale cost',
  ])('a column %j, and does not offer it', (header) => {
    const { draft, about, labels } = doubtsOf(
      `Item no.,Product name,${header},RRP EUR`,
      'A,a,1.50,2.50',
      'B,b,2.50,3.50',
    );

    expect(draft?.columns).not.toHaveProperty('price');
    expect(about).toEqual(['price unsure_column']);
    expect(labels).toEqual(['The price is "RRP EUR"', 'Leave the price out']);
  });

  it.each(['Price in cents', 'Preis in Cent'])('a column %j, without a doubt', (header) => {
    const { about } = doubtsOf(`Item no.,Product name,${header},Currency`, 'A,a,150,EUR', 'B,b,250,EUR');

    expect(about).toEqual([expect.stringMatching(/^price /)]);
  });

  it('words in its place: they are empty', () => {
    const rows = ['A,a,POA', 'B,b,2.50', 'C,c,auf Anfrage', 'D,d,POA'];

    expect(definitionOf('Item no.,Product name,Price EUR', ...rows).null_values).toEqual([
      'POA',
      'auf Anfrage',
    ]);
  });

  it('words in its place, if several columns may be the price', () => {
    const { draft } = doubtsOf(
      'SKU,Name,Price 1,Price 2',
      'A,a,POA,2.00',
      'B,b,2.50,on request',
      'C,c,3.50,1.00',
    );

    expect(draft?.null_values).toEqual(['POA', 'on request']);
  });

  it('no word of a column that may have the names', () => {
    const { draft } = doubtsOf(
      'SKU,Name,Title,Price',
      'A,variable,Resistor,variable',
      'B,fixed,Condenser,2.50',
    );

    expect(draft).not.toHaveProperty('null_values');
  });
});
