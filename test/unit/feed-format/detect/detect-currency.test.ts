import type { FormatDefinition } from '../../../../src/feed-format/format-definition';
import { definitionFaults } from '../../../../src/feed-format/format-faults';
import { answer, definitionOf, detect, doubtsOf, fileOf } from '../../../support/detected-format';
import { readValues } from '../../../support/read-by-format';

describe('detectFormat finds', () => {
  it.each([
    ['SKU code,Title,price_eur', '5.00', undefined, 'EUR'],
    ['SKU code,Title,Preis in €', '5.00', undefined, 'EUR'],
    ['SKU code,Title,Price', '€5.00', undefined, 'EUR'],
    ['SKU code,Title,Price', '5.00 EUR', undefined, undefined],
    ['SKU code,Title,Price', '$5.00', 'no_currency', undefined],
    ['SKU code,Title,Price', '5.00', 'no_currency', undefined],
    ['SKU code,Title,Price all', '5.00', 'no_currency', undefined],
    ['sku,product_name,price', '5.00', undefined, undefined],
  ])('the currency of %j and %j', (header, price, code, constant) => {
    const { draft, about } = doubtsOf(header, `A,a,${price}`);

    expect(about.filter((each) => each.startsWith('currency'))).toEqual(code ? [`currency ${code}`] : []);
    expect(draft?.columns.currency?.value).toBe(constant);
  });

  const isEuro = { value: 'EUR' };

  it.each([
    ['SKU code,Title,Price', 'A,Lamp,"€1,125"', ['decimal_separator'], isEuro],
    ['sku,product_name,price', 'A,Lamp,"€1,125"', ['decimal_separator'], isEuro],
    ['SKU code,Title,Sale price', 'A,Lamp,€5.00', ['price'], isEuro],
    ['SKU code,Title,Net price,Gross price', 'A,Lamp,€10.00,€11.90', ['price'], isEuro],
    ['SKU code,Title,Net price,Gross price', 'A,Lamp,10.00 EUR,11.90 EUR', ['price'], undefined],
    [
      'SKU code,Title,price_eur,currency',
      'A,Lamp,"1,125",USD',
      ['decimal_separator'],
      { from: ['currency'] },
    ],
    ['SKU code,Title,price_eur,currency', 'A,Lamp,"1,125",', ['decimal_separator'], isEuro],
    ['sku,product_name,price_eur', 'A,Lamp,5.00', ['price'], isEuro],
    ['sku,product_name,price_eur,currency', 'A,Lamp,5.00,USD', ['price'], { from: ['currency'] }],
    ['SKU code,Title,Price EUR,Price', 'A,Lamp,5.00,6.00', ['currency', 'price'], isEuro],
    ['SKU code,Title,Price EUR,Price,currency', 'A,Lamp,5.00,6.00,', ['currency', 'price'], isEuro],
    ['SKU code,Title,Price,currency', 'A,Lamp,5.00,', ['currency'], { from: ['currency'] }],
  ])('keeps the currency of %j and %j with any doubts', (header, row, about, currency) => {
    const { draft, doubts } = detect(`${header}\n${row}\n`);
    const formats = doubts.reduce<unknown[]>(
      (made, { choices }) => made.flatMap((format) => choices.map((choice) => answer(format, choice))),
      [draft],
    );
    const leftOut = doubts.map((doubt) => doubt.choices.at(doubt.about === 'currency' ? -1 : 0)!);

    expect(doubts.map((doubt) => doubt.about)).toEqual(about);
    expect((leftOut.reduce<unknown>(answer, draft) as FormatDefinition).columns.currency).toEqual(currency);
    expect(formats.flatMap(definitionFaults)).toEqual([]);
  });

  it('lists the prices without a currency, if only some have none', () => {
    const messages = (text: string) => detect(text).doubts.map(({ message }) => message);

    expect(messages('SKU code,Title,Price EUR,Price\nA,Lamp,5.00,6.00\n')[0]).toBe(
      'The file does not name the currency of the prices in "Price". Orders of products without a currency use USD.',
    );
    expect(messages('SKU code,Title,Price\nA,Lamp,5.00\n')).toEqual([
      'The file does not name the currency of its prices. Orders of products without a currency use USD.',
    ]);
  });
});

describe('detectFormat takes signs', () => {
  const header = 'Item no.,Product name,Price';

  it('of several currencies, each for its row', async () => {
    const lines = [header, 'A,Tent,€1.50', 'B,Lamp,2.50 zł', 'C,Bed,100 Kč'];
    const format = definitionOf(...lines);
    const values = await readValues(fileOf(...lines), format);

    expect(format).toMatchObject({ currency_from_sign: true });
    expect(values.map(({ price, currency }) => [price, currency])).toEqual([
      ['1.50', 'EUR'],
      ['2.50', 'PLN'],
      ['100', 'CZK'],
    ]);
  });

  it.each([
    ['$', ['$1.50', '$2.50']],
    ['kr', ['10 kr', '20 kr']],
    ['£', ['£1.50', '£2.50']],
    ['Fcfa', ['1500 Fcfa', '2500 Fcfa']],
    ['no sign beside some', ['1.50 €', '2.50']],
    ['one sign that names none', ['1.50 €', '$2.50']],
  ])('of no currency for a doubt, with the prices: %s', (_, prices) => {
    const { draft, about } = doubtsOf(header, ...prices.map((price, at) => `S${at},n,${price}`));

    expect(about).toEqual(['currency no_currency']);
    expect(draft?.columns.price).toEqual({ from: ['Price'] });
    expect(draft).not.toHaveProperty('currency_from_sign');
  });
});
