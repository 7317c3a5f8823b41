import fc from 'fast-check';
import { encode } from 'iconv-lite';
import { firstRecords, readFormatHeader } from '../../../src/etl/format-header';
import { detectDecimal } from '../../../src/feed-format/detect-decimal';
import { detectEncoding } from '../../../src/feed-format/detect-encoding';
import { detectFormat } from '../../../src/feed-format/detect-format';
import { columnsNamed } from '../../../src/feed-format/header-synonyms';
import { casesFor } from '../../support/fuzz';
import { filesOfOtherFormats } from '../../support/other-file-formats';

const detect = (content: string | Buffer) => detectFormat(Buffer.from(content), firstRecords);

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
  ])('is certain of an encoding by its byte order mark, and not without: %s', (_, bytes, encoding) => {
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
    expect(found.definition).toMatchObject({
      columns: { sku: { from: [expect.any(String)] }, product_name: { from: [expect.any(String)] } },
    });
  });

  it('takes a line with a delimiter off as an upload does, so that both find the same header row', () => {
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
        const { definition, headers } = detect(text);
        const names = headers.map((each) => each.header);
        if (definition) expect(readFormatHeader(Buffer.from(text), definition)).toMatchObject({ names });
      }),
      casesFor('lines with a delimiter', 200),
    );
  });

  it('takes the column whose cells fit', () => {
    const { definition } = detect(
      'ID;Reference;Titel;Status;Price;Einkaufspreis;Type\n1;A-1;Zelt;aktiv;auf Anfrage;5,50;Zelte\n2;A-2;Stuhl;aktiv;auf Anfrage;6,50;Möbel\n',
    );

    expect(definition?.columns).toMatchObject({
      sku: { from: ['Reference'] },
      product_name: { from: ['Titel'] },
    });
    expect(definition?.columns).not.toHaveProperty('availability');
  });

  it('names no header that occurs twice', () => {
    expect(detect('SKU;Name;Name\n1;a;b\n').definition).toBeNull();
  });

  it('lists words that mean nothing, and words for the availability', () => {
    expect(
      detect('SKU;Name;Preis;Verfügbarkeit\n1;a;1,50;Auf Lager\n2;b;k.A.;vergriffen\n').definition,
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

describe('detectDecimal', () => {
  it.each([
    [',', ['12,50', '1.299,00']],
    ['.', ['12.50', '1,299.00']],
    [',', ["1'299,00", '5']],
    [',', ['5,00 €', 'EUR 7,5']],
    ['.', ['$5.00', '7.25 USD']],
    [',', ['1.234.567']],
    [null, ['5', '7', '']],
  ])('finds the separator %j for %j', (separator, prices) => {
    expect(detectDecimal(prices, []).separator).toBe(separator);
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
