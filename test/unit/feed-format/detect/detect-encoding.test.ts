import { encode } from 'iconv-lite';
import { detectEncoding } from '../../../../src/feed-format/detect/detect-encoding';

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
