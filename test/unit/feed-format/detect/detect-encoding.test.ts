import { encode } from 'iconv-lite';
import { detectEncoding } from '../../../../src/feed-format/detect/detect-encoding';

const brokenUtf8 = (text: string) => Buffer.concat([Buffer.from(text), Buffer.from([0xff, 0x0a])]);

/** Names of products in each language, in the code page of its Excel. */
const productLists: [string, string, string[]][] = [
  [
    'Greek',
    'windows-1253',
    [
      'Ελαιόλαδο εξαιρετικά παρθένο 1 λίτρο',
      'ΚΑΦΕΣ ΕΛΛΗΝΙΚΟΣ 200γρ',
      'Φέτα ΠΟΠ 400 g',
      'Μέλι θυμαρίσιο',
      'Καρέκλα γραφείου μαύρη',
    ],
  ],
  [
    'Hebrew',
    'windows-1255',
    ['חולצת כותנה לגברים', 'מכנסיים קצרים XL', 'נעלי ספורט לנשים', 'שמן זית 750 מ"ל', 'כיסא משרדי שחור'],
  ],
  [
    'Arabic',
    'windows-1256',
    ['قميص رجالي أبيض', 'بنطلون جينز XL', 'زيت زيتون 500 مل', 'كرسي مكتب أسود', 'سماعة بلوتوث JBL'],
  ],
  ['Persian', 'windows-1256', ['پيراهن مردانه آبي', 'چاي سياه', 'روغن زيتون', 'گوشي تلفن همراه']],
  [
    'Lithuanian',
    'windows-1257',
    [
      'Vyriški marškinėliai',
      'Kavos puodelis su žirgeliu',
      'Šokoladas juodasis',
      'Stalinė lempa žalia',
      'Sūris Džiugas 180 g',
      'Vaikiškas dviratis',
    ],
  ],
  [
    'Latvian',
    'windows-1257',
    [
      'Vīriešu krekls ar garām piedurknēm',
      'Kafijas krūze zaļa',
      'Šokolāde rūgtā',
      'Galda lampa',
      'Bērnu divritenis',
    ],
  ],
  [
    'Thai',
    'windows-874',
    ['เสื้อยืดผ้าฝ้าย สีขาว', 'กาแฟคั่วบด 250 กรัม', 'น้ำปลาแท้ ขวด 700 มล.', 'เก้าอี้สำนักงาน', 'ถุงขยะ XL 20 ใบ'],
  ],
  [
    'French',
    'windows-1252',
    ['Château, boîte à gâteaux', 'Crème brûlée', 'Éponge à récurer', 'Maïs doux', 'Thé glacé pêche'],
  ],
  [
    'Danish',
    'windows-1252',
    ['Rødgrød', 'Grøn hængekøje', 'Sæbe økologisk', 'Køkkenrulle', 'Blå børnecykel'],
  ],
  [
    'Icelandic',
    'windows-1252',
    ['Þurrkað lambakjöt', 'Íslensk ullarpeysa', 'Skór með reimum', 'Harðfiskur', 'Kæfa úr síld'],
  ],
  [
    'Polish',
    'windows-1250',
    ['Żółta koszulka męska', 'Świeca pachnąca', 'Kubek do kawy biały', 'Krzesło', 'Masło śmietankowe'],
  ],
  [
    'Croatian',
    'windows-1250',
    ['Muška košulja plava', 'Šalica za kavu', 'Dječji bicikl', 'Voćni čaj', 'Ćevapi svježi'],
  ],
  [
    'Turkish',
    'windows-1254',
    ['Erkek gömlek kırmızı', 'Türk kahvesi', 'Çocuk ayakkabısı', 'Ofis sandalyesi', 'Yağlı güreş şalvarı'],
  ],
  [
    'Russian',
    'windows-1251',
    ['Рубашка мужская белая', 'КОФЕ МОЛОТЫЙ 250 г', 'Кресло офисное', 'Масло оливковое', 'Шоколад'],
  ],
  ['Bulgarian', 'windows-1251', ['Мъжка риза бяла', 'Кафе мляно', 'Зехтин 1 л', 'Офис стол', 'Шоколад']],
  ['Korean', 'euc-kr', ['남성 면 셔츠 흰색', '원두 커피 250그램', '올리브유', '사무용 의자', '다크 초콜릿']],
  ['Chinese', 'gb18030', ['男士纯棉衬衫白色', '咖啡粉二百五十克', '橄榄油', '办公椅', '黑巧克力']],
  ['Japanese', 'shift_jis', ['メンズシャツ 白', 'コーヒー豆 250グラム', 'オリーブオイル', 'オフィスチェア']],
];

describe('detectEncoding', () => {
  it.each(productLists)('is certain of the encoding of a product list in %s: %s', (_, encoding, names) => {
    const rows = names.map((name, at) => `${1000 + at};"${name.replaceAll('"', '""')}";${at},50\r\n`);

    const found = detectEncoding(encode(`sku;name;price\r\n${rows.join('')}`, encoding));
    expect(found.encoding).toBe(encoding);
    expect(found.confidence).toBeGreaterThanOrEqual(0.9);
  });

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
    ['windows-1251', 'A,Пень\nB,Зубной нет\nC,Пенный бубен\n'],
    ['shift_jis', '商品コード,商品名\n1,二人用テント\n'],
    ['euc-jp', '商品コード,商品名\n1,二人用テント\n'],
    ['euc-kr', '상품코드,상품명\n1,이인용 텐트\n'],
    ['gb18030', '货号,商品名称\n1,双人帐篷保暖睡袋\n'],
    ['big5', '貨號,商品名稱\n1,雙人帳篷保暖睡袋\n'],
    ['windows-1253', 'κωδικός;όνομα\n1;σκηνή για δύο άτομα\n'],
    ['windows-1255', 'קוד;שם\n1;אוהל זוגי\n2;שק שינה\n'],
    ['windows-1256', 'الرمز;الاسم\n1;خيمة لشخصين\n2;كيس نوم\n'],
    ['windows-1257', 'kodas;pavadinimas\n1;šviesus dviejų žmonių čiužinys\n2;žalias krepšys\n'],
    ['windows-1257', 'kood;nimi\n1;kõrvaklapid\n2;šokolaad, õlivaba\n3;öökapp, männist\n4;žilett\n'],
    ['windows-874', 'รหัสสินค้า;ชื่อสินค้า\n1;เต็นท์สองคน\n'],
    ['windows-1252', 'codice;nome\n1;caffè di qualità\n2;tè verde più fresco\n3;lampada già montata\n'],
  ])('finds %s for %j', (encoding, text) => {
    expect(detectEncoding(encode(text, encoding)).encoding).toBe(encoding);
  });

  it.each([
    ['a byte order mark', Buffer.from('\ufeffsku\n', 'utf16le'), 'utf-16le'],
    ['broken UTF-8', Buffer.concat([Buffer.from('1,Zelte für Dächer – groß'), Buffer.from([0xff])]), null],
    ['control characters', Buffer.from([0x41, 0x00, 0x01, 0xfe, 0x02]), null],
    [
      'Greek of ISO 8859-7, which no format reads',
      encode('κωδικός;όνομα\n1;Άνετη σκηνή για δύο\n', 'iso-8859-7'),
      null,
    ],
    ['Russian of KOI8-R, which no format reads', encode('код;название\n1;палатка\n', 'koi8-r'), null],
    [
      'Arabic of ISO 8859-6, which no format reads',
      encode('الرمز;الاسم\n1;خيمة لشخصين\n2;كيس نوم\n', 'iso-8859-6'),
      null,
    ],
    [
      'Arabic of ISO 8859-6 with few letters of its own',
      encode('رمز;اسم\n1;حليب طازج\n2;شاي أسود\n3;سمك\n', 'iso-8859-6'),
      null,
    ],
    ['broken UTF-8 of Thai', brokenUtf8('รหัสสินค้า;ชื่อสินค้า\n1;เต็นท์สองคน\n'), null],
    ['broken UTF-8 of Greek', brokenUtf8('κωδικός;όνομα\n1;σκηνή για δύο άτομα\n'), null],
    ['broken UTF-8 of Arabic', brokenUtf8('الرمز;الاسم\n1;خيمة لشخصين\n'), null],
    ['broken UTF-8 of Hebrew', brokenUtf8('קוד;שם\n1;אוהל זוגי\n'), null],
  ])('is certain of an encoding by its byte order mark, and not without one: %s', (_, bytes, encoding) => {
    const found = detectEncoding(bytes);

    if (encoding === null) expect(found.confidence).toBeLessThan(0.9);
    else expect(found).toEqual({ encoding, confidence: 1 });
  });
});
