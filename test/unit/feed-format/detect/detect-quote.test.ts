import { definitionOf, doubtsOf, headerOf } from '../../../support/detected-format';
import { readValues } from '../../../support/read-by-format';

const header = 'Item no.,Product name,Price EUR';
const tabbed = header.replaceAll(',', '\t');
const namesIn = async (...lines: string[]) => {
  const values = await readValues(`${lines.join('\n')}\n`, definitionOf(...lines));
  return values.map(({ product_name }) => product_name);
};

describe('detectFormat takes quotes', () => {
  it.each<[string, string[], string[], 'none' | undefined]>([
    [
      'for inches in tabs',
      [tabbed, 'A\t27" wide\t1.50', 'B\t"Best" lamp\t2'],
      ['27" wide', '"Best" lamp'],
      'none',
    ],
    [
      'for characters at the beginning',
      [header, 'A,"Best" lamp,1.50', 'B,5" nail,2'],
      ['"Best" lamp', '5" nail'],
      'none',
    ],
    [
      'for inches without another mark',
      [header, 'A,27" wide,1.50', 'B,Lamp,2'],
      ['27" wide', 'Lamp'],
      undefined,
    ],
    [
      'around cells beside inches',
      [header, 'A,27" wide,1.50', 'B,"Tent, large",2'],
      ['27" wide', 'Tent, large'],
      undefined,
    ],
    [
      'behind a blank',
      [header, 'A, "Tent, large", 1.50', 'B, "Lamp", 2'],
      ['Tent, large', 'Lamp'],
      undefined,
    ],
  ])('%s', async (_, lines, names, quote) => {
    expect(definitionOf(...lines).quote).toBe(quote);
    expect(await namesIn(...lines)).toEqual(names);
  });
});

describe('detectFormat takes text marks off', () => {
  it.each([
    ['="…"', [header, '"=""0042""",Bolt,1.00'], '0042'],
    ['="…" in a file of our own columns', ['sku,product_name,price', '"=""0042""",Bolt,1.00'], '0042'],
    ["' before a digit of a sku", [header, "'0042,Bolt,1.00", '43,Nut,2.00'], '0042'],
    ["' before a sign in another column", [header, "42,'-Bolt,1.00"], '42'],
  ])('%s', async (_, lines, sku) => {
    const definition = definitionOf(...lines);
    const [first] = await readValues(`${lines.join('\n')}\n`, definition);

    expect(definition.text_marks).toBe('strip');
    expect(first!.sku).toBe(sku);
  });

  it("but not an ' before a digit of a name", async () => {
    const lines = [header, "A,'68 poster,1.00"];

    expect(definitionOf(...lines)).not.toHaveProperty('text_marks');
    expect(await namesIn(...lines)).toEqual(["'68 poster"]);
  });
});

describe('detectFormat has a doubt about', () => {
  it.each([
    ['sku,product_name,price', ['1.23457E+12,Bolt,1.00'], 'damaged_sku suspicious_sku'],
    [
      'sku, product_name, price',
      ['P-1, "Sun milk, 8 oz", 6.68', 'P-2, "Wrench set", 10.00'],
      'quote quotes_in_cells',
    ],
  ])('cells of %j that would be loaded damaged or with quotes', (names, rows, doubt) => {
    const { draft, about } = doubtsOf(names, ...rows);

    expect(about).toEqual([doubt]);
    expect(headerOf(draft, 'sku')).toBe('sku');
  });

  it.each([
    ['name,Article number,Item number', ['a,1.2E+12,I1', 'b,1.3E+12,I2'], ['sku', 'damaged_sku']],
    ['name,lang,sku', ['a,en,1.2E+12', 'b,en,S2', 'c,fr,1.2E+12', 'd,fr,S2'], ['rows', 'damaged_sku']],
    ['name,Article number,Item number', ["a,'01,I1", "b,'02,I2"], ['sku']],
    ['name, Article number, Item number', ['a, "S1", I1', 'b, "S2", I2'], ['sku']],
  ])('the column of %j with the skus, and about its cells if they are damaged', (names, rows, subjects) => {
    const { about } = doubtsOf(names, ...rows);

    expect(about.map((each) => each.split(' ')[0])).toEqual(subjects);
  });
});

it('takes quotes around decimal commas for quotes, also before an empty last cell', async () => {
  const lines = ['Item no.,Product name,Price EUR,Colour', 'A,Tent,"1,50",', 'B,Lamp,"2,75",'];
  const format = definitionOf(...lines);

  expect(format).not.toHaveProperty('quote');
  expect((await readValues(`${lines.join('\n')}\n`, format)).map(({ price }) => price)).toEqual([
    '1.50',
    '2.75',
  ]);
});

it('takes quotes around a line break for quotes, in one of many rows', () => {
  const rows = Array.from({ length: 200 }, (_, at) => `A-${at};Lamp;plain;7.50`);
  const lines = ['SKU;Name;Description;Price EUR', ...rows, 'B;Tent;"first line', 'second line";8.50'];

  expect(definitionOf(...lines)).not.toHaveProperty('quote');
});
