import fc from 'fast-check';
import { readHeader } from '../../../../src/feed-format/read/header';
import type { FormatDefinition } from '../../../../src/feed-format/format-definition';
import { definitionOf, detect, doubtsOf, fileOf } from '../../../support/detected-format';
import { readValues } from '../../../support/read-by-format';
import { casesFor } from '../../../support/fuzz';
import { filesOfOtherFormats } from '../../../support/other-file-formats';

const lineEnds = fc.constantFrom('\n', '\r\n', '\r');

describe('detectFormat', () => {
  it.each([
    [',', 0, 'sku,product_name\n1,"a;b;c"\n'],
    [';', 0, 'Art.-Nr.;Bezeichnung;Preis\n1;Zelt;1,50\n2;Stuhl;2,50\n'],
    ['\t', 0, 'id\ttitle\tprice\n1\tTent, large\t5\n'],
    ['|', 0, 'SKU|Name|Price\n1|Tent, large; new|5\n'],
    [';', 0, 'sep=;\r\nSKU;Name\r\n1;a,b\r\n'],
    [';', 0, 'sep=:\r\nSKU;Name\r\n1;a,b\r\n'],
    [';', 1, 'sep=;\r\nList\r\nSKU;Name\r\n1;a,b\r\n'],
    [';', 3, 'Price list; spring\n\nwww.example.com\nSKU;Name;Price\n1;Tent;5\n'],
    [';', 1, 'Price list;;\nSKU;Name;Price\n1;Tent;5\n'],
    [',', 2, 'Price list\rof spring\rSKU,Name\r1,Tent\r'],
    [',', 0, '\n\nSKU,Name\n1,Tent\n'],
    [',', 0, 'SKU,Name\n1,"A\nB;C;D\nE"\n'],
  ])('finds the delimiter %j and %i lines before the header', (delimiter, skipLines, text) => {
    const found = detect(text);

    expect(found).toMatchObject({ delimiter: { value: delimiter }, skipLines });
    expect(found.draft).toMatchObject({
      columns: { sku: { from: [expect.any(String)] }, product_name: { from: [expect.any(String)] } },
    });
  });

  it('skips a line with a delimiter as an upload does, so that both find the same header row', () => {
    const stated = fc.constantFrom(',', ';', '\t', '|', ':', ' ', '"', '^', '§', '');
    const line = fc
      .record({ before: fc.constantFrom('', '"'), word: fc.constantFrom('sep=', 'SEP='), stated })
      .chain(({ before, word, stated: character }) =>
        fc
          .constantFrom('', '"', ' ', '"\t', ' '.repeat(70), ' '.repeat(300), ';;')
          .map((after) => before + word + character + after),
      );
    const lines = fc.record({ line, title: fc.constantFrom([], ['List'], ['List', '']), end: lineEnds });
    fc.assert(
      fc.property(lines, ({ line: first, title, end }) => {
        const text = [first, ...title, 'Art.-Nr.;Bezeichnung;Preis', '1;Zelt;1,50', ''].join(end);
        const { draft, headers } = detect(text);
        const names = headers.map((each) => each.header);
        const header = draft && readHeader(Buffer.from(text), draft as FormatDefinition);
        if (header) expect(header).toMatchObject({ names });
      }),
      casesFor('lines with a delimiter', 200),
    );
  });

  it('maps no header that occurs twice', () => {
    expect(detect('SKU;Name;Name\n1;a;b\n')).toMatchObject({ draft: null, doubts: [], definition: null });
  });

  it('lists words for empty values, and words for the availability', () => {
    expect(
      detect('SKU;Name;Preis (EUR);Verfügbarkeit\n1;a;1,50;Auf Lager\n2;b;k.A.;vergriffen\n').definition,
    ).toMatchObject({
      null_values: ['k.A.'],
      availability: { 'auf lager': 'in_stock', vergriffen: 'out_of_stock' },
    });
  });

  it.each(filesOfOtherFormats.filter(([, code]) => !['utf_16', 'windows_1252'].includes(code)))(
    'suggests nothing for %s',
    (_, __, content) => {
      expect(detect(content)).toMatchObject({ definition: null, headers: [] });
    },
  );
});

describe('a file without a header row', () => {
  it('has positions instead of names', async () => {
    const lines = ['A-1;Tent, large;12,50 EUR', 'A-2;Desk lamp;5,00 EUR', 'A-3;Camp bed;7,25 EUR'];
    const format = definitionOf(...lines);

    expect(format).toMatchObject({
      header: false,
      fields: 3,
      columns: { sku: { position: 1 }, product_name: { position: 2 }, price: { position: 3 } },
    });
    expect((await readValues(fileOf(...lines), format)).map(({ sku, price }) => [sku, price])).toEqual([
      ['A-1', '12.50'],
      ['A-2', '5.00'],
      ['A-3', '7.25'],
    ]);
  });

  it('is asked about if several columns could be the sku', () => {
    const rows = [
      'A-1;Tent, large;X100;12,50 EUR',
      'A-2;Desk lamp;X101;5,00 EUR',
      'A-3;Camp bed;X102;7,25 EUR',
    ];
    const { draft, about, labels } = doubtsOf(...rows);

    expect(draft).toMatchObject({ header: false, fields: 4, columns: { product_name: { position: 2 } } });
    expect(about).toEqual(['sku unnamed_column']);
    expect(labels).toEqual(['The sku is column 1', 'The sku is column 3']);
  });
});

describe('a header row', () => {
  const header = 'Item no.,Product name,Price EUR';

  it('is found in line 20', () => {
    expect(definitionOf(...Array<string>(19).fill('x'), header, 'A,Tent,1.50', 'B,Lamp,2.50')).toMatchObject({
      skip_lines: 19,
      columns: { sku: { from: ['Item no.'] } },
    });
  });

  it('may have 300 columns', () => {
    const names = Array.from({ length: 297 }, (_, at) => `Attribute ${at}`);
    const { definition, headers } = detect(
      fileOf([...names, header].join(), [...names.map((_, at) => at), 'A,Tent,1.50'].join()),
    );

    expect(headers).toHaveLength(300);
    expect(Object.keys(definition!.columns)).toEqual(['sku', 'product_name', 'price', 'currency']);
  });

  it.each([
    ['names in English', `${header},Brand,Stock,Colour`, 'A,Tent,1.50,Acme,5,red'],
    ['our names', 'sku,product_name,price,brand,size', 'A,Tent,1.50,Acme,5'],
    ['names of a known system', 'Handle,Title,Variant SKU,Variant Price,Vendor', 'tent,Tent,A,1.50,Acme'],
    ['columns in doubt', 'Item no.,Article number,Title,RRP,UVP', 'A,B,Tent,1.50,2.50'],
  ])('has a reason for each column that is found, and for no other: %s', (_, names, row) => {
    const { headers } = detect(fileOf(names, row));

    expect(headers.some(({ column }) => column !== null)).toBe(true);
    for (const { column, confidence, reason } of headers) {
      expect([confidence > 0, Boolean(reason)]).toEqual([column !== null, column !== null]);
    }
  });

  it('needs no names to update products', () => {
    const text = fileOf('Item no.,Price EUR', 'A,1.50', 'B,2.50');

    expect(detect(text).draft).toBeNull();
    expect(detect(text, { isUpdate: true }).definition?.columns).toEqual({
      sku: { from: ['Item no.'] },
      price: { from: ['Price EUR'] },
      currency: { value: 'EUR' },
    });
  });
});

it.each([
  ['a letter', ['Dear customers,', 'we send you our prices soon.', 'Kind regards', 'Acme']],
  ['a list of words', ['tent', 'lamp', 'bed']],
  ['a log', ['2026-11-01 10:00 started', '2026-11-01 10:01 stopped']],
])('suggests nothing for %s', (_, lines) => {
  expect(detect(fileOf(...lines))).toMatchObject({ definition: null, draft: null, doubts: [] });
});
