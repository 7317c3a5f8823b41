import fc from 'fast-check';
import { encode } from 'iconv-lite';
import { readHeader } from '../../../src/feed-format/read/header';
import { detectDecimal } from '../../../src/feed-format/detect/detect-decimal';
import { detectEncoding } from '../../../src/feed-format/detect/detect-encoding';
import { detectFormat } from '../../../src/feed-format/detect/detect-format';
import type { FormatDefinition } from '../../../src/feed-format/format-definition';
import type { DoubtChoice } from '../../../src/feed-format/detect/format-doubts';
import { definitionFaults } from '../../../src/feed-format/format-faults';
import { columnsNamed } from '../../../src/feed-format/detect/header-synonyms';
import { applyMergePatch, patchAt } from '../../../src/feed-format/detect/merge-patch';
import { casesFor } from '../../support/fuzz';
import { filesOfOtherFormats } from '../../support/other-file-formats';

const detect = (content: string | Buffer) =>
  detectFormat(Buffer.from(content), { complete: true, defaultCurrency: 'USD' });

describe('detectEncoding', () => {
  it.each([
    ['utf-8', 'sku,name\n1,Zelt für zwei\n'],
    ['utf-16le', 'sku,name\n1,Zelt für zwei\n'],
    ['utf-16be', 'sku,name\n1,Zelt für zwei\n'],
    ['utf-16le', '商品コード,商品名\n1,椅子\n2,机\n'],
    ['windows-1252', 'sku;name\n1;Zelt für zwei, größer\n2;Hängematte\n'],
    ['windows-1252', 'sku;name;price\n1;café – été;5 €\n'],
    ['iso-8859-15', "sku;name;price\n1;café;5 €\n2;chaise d'été;7 €\n"],
    ['windows-1250', 'sku;nazwa\n1;żółty namiot\n2;świeca pachnąca\n'],
    ['iso-8859-2', 'sku;nazwa\n1;żółty namiot\n2;świeca pachnąca\n'],
    ['windows-1254', 'sku;isim\n1;yeşil çadır\n2;küçük ışık\n'],
    ['windows-1251', 'sku;название\n1;палатка двухместная\n'],
    ['shift_jis', '商品コード,商品名\n1,二人用テント\n'],
    ['euc-jp', '商品コード,商品名\n1,二人用テント\n'],
    ['euc-kr', '상품코드,상품명\n1,이인용 텐트\n'],
    ['gb18030', '货号,商品名称\n1,双人帐篷保暖睡袋\n'],
    ['big5', '貨號,商品名稱\n1,雙人帳篷保暖睡袋\n'],
  ])('finds %s for %j', (encoding, text) => {
    expect(detectEncoding(encode(text, encoding)).encoding).toBe(encoding);
  });

  it.each([
    ['a byte order mark', Buffer.from('\ufeffsku\n', 'utf16le'), 'utf-16le'],
    ['broken UTF-8', Buffer.concat([Buffer.from('1,Zelte für Dächer – groß'), Buffer.from([0xff])]), null],
    ['control characters', Buffer.from([0x41, 0x00, 0x01, 0xfe, 0x02]), null],
    ['Greek, which no format reads', encode('κωδικός;όνομα\n1;σκηνή για δύο άτομα\n', 'windows-1253'), null],
    ['Thai, which no format reads', encode('รหัสสินค้า;ชื่อสินค้า\n1;เต็นท์สองคน\n', 'windows-874'), null],
  ])('is certain of an encoding by its byte order mark, and not without one: %s', (_, bytes, encoding) => {
    const found = detectEncoding(bytes);

    if (encoding === null) expect(found.confidence).toBeLessThan(0.9);
    else expect(found).toEqual({ encoding, confidence: 1 });
  });
});

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

/** Returns the doubts about a file with these columns, and the known headers. */
const doubtsOf = (header: string, ...rows: string[]) => {
  const { draft, doubts, definition } = detect([header, ...rows, ''].join('\n'));
  expect(definition === null).toBe(draft === null || doubts.length > 0);
  return {
    draft,
    about: doubts.map(({ about, code }) => `${about} ${code}`),
    labels: doubts.flatMap(({ choices }) => choices.map(({ label }) => label)),
  };
};
const headerOf = (draft: ReturnType<typeof detect>['draft'], column: string) =>
  draft?.columns[column]?.from?.[0];

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
    ['SKU;Name;Price per kg;Price', ['A;a;4.10;4.88'], [], 'Price'],
    ['SKU;Name;Tarif X', ['A;a;4.10', 'B;b;5.10'], ['unnamed_column'], undefined],
    ['SKU;Name;Menge;Weight', ['A;a;4;5'], [], undefined],
  ])('the price of %j', (header, rows, codes, price) => {
    const { draft, about } = doubtsOf(header, ...rows);

    expect(about.filter((each) => each.startsWith('price'))).toEqual(codes.map((code) => `price ${code}`));
    expect(headerOf(draft, 'price')).toBe(price);
  });

  it.each([
    ['sku,product_name,price', ['"=""0042""",Bolt,1.00'], 'damaged_sku suspicious_sku'],
    ['sku,product_name,price', ["'0042,Bolt,1.00", '43,Nut,2.00'], 'damaged_sku suspicious_sku'],
    ['sku,product_name,price', ['1.23457E+12,Bolt,1.00'], 'damaged_sku suspicious_sku'],
    [
      'sku, product_name, price',
      ['P-1, "Sun milk, 8 oz", 6.68', 'P-2, "Wrench set", 10.00'],
      'quote quotes_in_cells',
    ],
  ])('cells of %j that would be loaded with quotes', (header, rows, doubt) => {
    const { draft, about } = doubtsOf(header, ...rows);

    expect(about).toEqual([doubt]);
    expect(headerOf(draft, 'sku')).toBe('sku');
  });

  it.each([
    ['name,Article number,Item number', ["a,'01,I1", "b,'02,I2"], ['sku', 'damaged_sku']],
    ['name,lang,sku', ["a,en,'01", "b,en,'02", "c,fr,'01", "d,fr,'02"], ['rows', 'damaged_sku']],
    ['name, Article number, Item number', ['a, "S1", I1', 'b, "S2", I2'], ['sku', 'quote']],
    [
      'SKU code, Title, Sale price, RRP',
      ['A, a, 1.00, "5.00"', 'B, b, 2, 3', 'C, c, 3, 3', 'D, d, 4, 4'],
      ['quote', 'currency', 'price'],
    ],
  ])('cells of %j with marks, in a column that is itself in doubt', (header, rows, subjects) => {
    const { about } = doubtsOf(header, ...rows);

    expect(about.map((each) => each.split(' ')[0])).toEqual(subjects);
  });

  it('offers each column that may contain the price, no column with costs, and to omit the price', () => {
    const { labels } = doubtsOf('SKU,Name,Cost,RRP,MSRP', 'A,a,1.00,5.00,6.00');

    expect(labels.slice(-3)).toEqual(['The price is "RRP"', 'The price is "MSRP"', 'Leave the price out']);
  });

  const priced = (...prices: string[]) => prices.map((price, at) => `S${at};n${at};"${price}"`);

  it.each([
    ['price', ['1,125', '1,375'], 'ambiguous_decimals'],
    ['price', ['1.250', '7.750'], 'ambiguous_decimals'],
    ['price', ['12,50', '1.75'], 'contradictory_decimals'],
    ['price', ['1.125 EUR', '2.250 EUR'], 'ambiguous_decimals'],
    ['price', ['1,125', '12,50'], ','],
    ['price', ['1,125', '12.50'], undefined],
    ['price', ['19.990000', '7.125000'], undefined],
    ['price', ['0,990', '1,250'], ','],
    ['price', ['1250.500'], undefined],
    ['price', ['1.234.567', '5'], ','],
    ['price', ["1'250,500"], ','],
    ['price', ['12.500 KWD', '7.750 KWD'], undefined],
    ['price', ['1.280 JPY', '980 JPY'], ','],
    ['price_kwd', ['12.500', '7.750'], undefined],
    ['price', ['5', '7', ''], undefined],
  ])('the decimal separator of %s %j is %s', (name, prices, expected) => {
    for (const [header, builtIn] of [
      ['sku;product_name', true],
      ['Artikelnummer;Bezeichnung', false],
    ] as const) {
      const { draft, about } = doubtsOf(`${header};${name}`, ...priced(...prices));
      const decimals = about.filter((each) => each.startsWith('decimal'));
      if (builtIn && name !== 'price') continue;
      if (expected === undefined || expected === ',') {
        expect([draft?.decimal_separator, decimals]).toEqual([expected, []]);
        expect(draft?.columns.price).toBeDefined();
      } else {
        expect([draft?.decimal_separator, decimals]).toEqual([undefined, [`decimal_separator ${expected}`]]);
        expect(draft?.columns.price).toBeUndefined();
      }
    }
  });

  it('uses no decimal comma for a built-in format because of other columns', () => {
    const { definition } = detect(
      'id,title,price,availability,size\nA,a,5 EUR,in_stock,"1,5"\nB,b,7 EUR,in_stock,"2,5"\n',
    );

    expect(definition).not.toHaveProperty('decimal_separator');
    expect(definition?.columns.price?.from).toContain('price');
  });

  it('explains each choice of a decimal separator', () => {
    const { labels } = doubtsOf('sku,product_name,price', 'A,a,"1,125"');

    expect(labels).toEqual(['1,125 means 1125', '1,125 means 1.125']);
  });

  it('reads no price with another value than it was written with, for any prices', () => {
    const price = fc.record({
      amount: fc.oneof(fc.nat(3_000), fc.nat(9_999_999)),
      decimals: fc.constantFrom(0, 1, 2, 3, 3, 4),
    });
    const written = fc.record({
      decimal: fc.constantFrom('.', ','),
      grouped: fc.boolean(),
      prices: fc.array(price, { minLength: 1, maxLength: 6 }),
    });
    fc.assert(
      fc.property(written, ({ decimal, grouped, prices }) => {
        const texts = prices.map(({ amount, decimals }) => {
          const whole = grouped
            ? String(amount).replace(/\B(?=(?:\d{3})+$)/g, decimal === '.' ? ',' : '.')
            : String(amount);
          return decimals === 0 ? whole : `${whole}${decimal}${'5'.repeat(decimals)}`;
        });
        const { separator, doubt } = detectDecimal(texts.map((text) => ({ text })));
        const isPlain = texts.every((text) => /^\d+$/.test(text));
        if (doubt === null) expect(separator).toBe(isPlain ? null : decimal);
        else expect(separator).toBeNull();
      }),
      casesFor('decimal separators', 1_000),
    );
  });

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
    ['ID,Reference,Title', ['1,A-1,a', '2,A-2,b'], ['sku several_columns'], undefined],
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
    const answer = (format: unknown, { changes, valuePointer }: DoubtChoice) =>
      [changes, ...(valuePointer === null ? [] : [patchAt(valuePointer, 'CHF')])].reduce(
        applyMergePatch,
        format,
      );
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

describe('columnsNamed', () => {
  it.each([
    ['Artikel-Nr.', 'sku'],
    ['RÉFÉRENCE', 'sku'],
    ['Código de producto', 'sku'],
    ['Nome prodotto', 'product_name'],
    ['Cena (PLN)', 'price'],
    ['Merk', 'brand'],
    ['Артикул', 'sku'],
    ['รหัสสินค้า', 'sku'],
    ['商品名称', 'product_name'],
    ['商品コード', 'sku'],
    ['g:title', 'product_name'],
    ['TITRE UK', 'product_name'],
    ['Name*', 'product_name'],
    ['Verfuegbarkeit', 'availability'],
  ])('finds a column for the header %j', (header, column) => {
    expect(columnsNamed(header).map((each) => each.column)).toContain(column);
  });

  it.each(['', '___proto__', 'constructor', 'x'.repeat(1000), 'weight', '123'])(
    'finds none for the header %j',
    (header) => {
      expect(columnsNamed(header)).toEqual([]);
    },
  );
});
