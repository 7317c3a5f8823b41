import { encode } from 'iconv-lite';
import type { Truth } from './measure-detection';

/** Words of a language, for generated files. Headers are: sku, name, description, brand, category, price, currency, availability. */
interface Language {
  encodings: readonly string[];
  decimal: '.' | ',';
  headers: readonly (readonly string[])[];
  words: readonly string[];
  states: readonly [string, string];
  preamble: string;
}

const unicode = ['utf-8', 'utf-8', 'utf-8-mark', 'utf-16le', 'utf-16be', 'utf-16le-mark'];
const western = [...unicode, 'windows-1252', 'windows-1252', 'windows-1252', 'iso-8859-1', 'iso-8859-15'];
const central = [...unicode, 'windows-1250', 'windows-1250', 'iso-8859-2'];

const split = (text: string) => text.split('|');
const languages: readonly Language[] = [
  {
    encodings: western,
    decimal: '.',
    headers: [
      'SKU|Item Number|Product Code|Part No.',
      'Name|Product Title|Item Name|Product Name',
      'Description|Long Description|Details',
      'Brand|Manufacturer|Vendor',
      'Category|Product Type',
      'Price|Unit Price|List Price|Retail Price',
      'Currency|Currency Code',
      'Availability|Stock Status|In Stock',
    ].map(split),
    words: split(
      'two-person tent|café table|wooden chair|lamp “Aurora”|30° wash cotton shirt|crème brûlée set|steel bottle – 750 ml|naïve art print|jalapeño sauce',
    ),
    states: ['in stock', 'out of stock'],
    preamble: 'Price list, spring',
  },
  {
    encodings: western,
    decimal: ',',
    headers: [
      'Artikelnummer|Art.-Nr.|ArtNr|Bestellnummer',
      'Bezeichnung|Artikelbezeichnung|Produktname|Artikelname',
      'Beschreibung|Langtext|Produktbeschreibung',
      'Marke|Hersteller',
      'Kategorie|Warengruppe',
      'Preis|VK-Preis|Verkaufspreis|Bruttopreis|Preis (EUR)',
      'Währung',
      'Verfügbarkeit|Lagerstatus',
    ].map(split),
    words: split(
      'Zelt für zwei|Hängematte grün|Schlafsack warm|Küchenmesser groß|Gemüseschäler|Kopfhörer weiß|Tür-Öffner|Fußball Größe 5|Wäschekorb',
    ),
    states: ['auf Lager', 'ausverkauft'],
    preamble: 'Preisliste Müller GmbH; Stand März',
  },
  {
    encodings: western,
    decimal: ',',
    headers: [
      'Référence|Code article|Réf. produit',
      'Désignation|Nom du produit|Titre',
      'Description|Descriptif',
      'Marque|Fabricant',
      'Catégorie|Rayon',
      'Prix|Prix TTC|Prix de vente',
      'Devise',
      'Disponibilité',
    ].map(split),
    words: split(
      'tente légère|chaise d’été|théière émaillée|couteau à fromage|sac de randonnée|lampe frontale étanche|gâteau glacé|pâté de forêt|crème hydratante',
    ),
    states: ['en stock', 'épuisé'],
    preamble: 'Catalogue été, prix publics',
  },
  {
    encodings: western,
    decimal: ',',
    headers: [
      'Código de producto|Referencia|Código artículo',
      'Nombre del producto|Nombre|Título',
      'Descripción',
      'Marca|Fabricante',
      'Categoría|Familia',
      'Precio|PVP|Precio de venta',
      'Moneda|Divisa',
      'Disponibilidad',
    ].map(split),
    words: split(
      'mochila montaña|lámpara de jardín|cañón de agua|sillón cómodo|jabón líquido|pañuelo algodón|cafetera eléctrica|balón fútbol|niño juguete',
    ),
    states: ['disponible', 'agotado'],
    preamble: 'Lista de precios',
  },
  {
    encodings: western,
    decimal: ',',
    headers: [
      'Codice articolo|Codice prodotto|Codice',
      'Nome prodotto|Nome|Titolo',
      'Descrizione',
      'Marca|Produttore',
      'Categoria',
      'Prezzo|Prezzo di vendita|Prezzo di listino',
      'Valuta',
      'Disponibilità',
    ].map(split),
    words: split(
      'tenda più leggera|caffè macinato|tè verde qualità|zaino città|lampada però bella|sedia di qualità|novità estate|tiramisù',
    ),
    states: ['disponibile', 'esaurito'],
    preamble: 'Listino prezzi',
  },
  {
    encodings: central,
    decimal: ',',
    headers: [
      'Indeks produktu|Kod produktu|Numer katalogowy',
      'Nazwa produktu|Nazwa',
      'Opis|Opis produktu',
      'Marka|Producent',
      'Kategoria',
      'Cena|Cena brutto|Cena sprzedaży',
      'Waluta',
      'Dostępność',
    ].map(split),
    words: split(
      'namiot dwuosobowy żółty|śpiwór ciepły|łóżko składane|krzesło ogrodowe|nóż kuchenny długi|książka o górach|świeca pachnąca|mięta świeża|źródło światła',
    ),
    states: ['dostępny', 'niedostępny'],
    preamble: 'Cennik wiosna',
  },
  {
    encodings: western,
    decimal: ',',
    headers: [
      'Artikelcode|Productnummer|Artikelnummer',
      'Productnaam|Artikelnaam|Naam',
      'Beschrijving|Omschrijving',
      'Merk|Fabrikant',
      'Categorie|Productgroep',
      'Prijs|Verkoopprijs|Adviesprijs',
      'Valuta',
      'Beschikbaarheid',
    ].map(split),
    words: split(
      'tweepersoonstent één|koffie crème|stoel geïmpregneerd|reünie doos|lamp vóór de deur|coördinatie set|financiële map|zeeën poster',
    ),
    states: ['op voorraad', 'uitverkocht'],
    preamble: 'Prijslijst voorjaar',
  },
  {
    encodings: [...unicode, 'windows-1251', 'windows-1251', 'windows-1251'],
    decimal: ',',
    headers: [
      'Артикул|Код товара',
      'Название|Наименование',
      'Описание',
      'Бренд|Производитель',
      'Категория',
      'Цена|Розничная цена',
      'Валюта',
      'Наличие',
    ].map(split),
    words: split(
      'палатка двухместная|спальный мешок|стул деревянный|нож кухонный|лампа настольная|рюкзак городской|чай зелёный|книга о горах',
    ),
    states: ['в наличии', 'нет в наличии'],
    preamble: 'Прайс-лист весна',
  },
  {
    encodings: unicode,
    decimal: '.',
    headers: [
      'รหัสสินค้า',
      'ชื่อสินค้า',
      'รายละเอียด|คำอธิบาย',
      'ยี่ห้อ|แบรนด์',
      'หมวดหมู่',
      'ราคา|ราคาขาย',
      'สกุลเงิน',
      'สถานะสินค้า',
    ].map(split),
    words: split('เต็นท์สองคน|ถุงนอน|เก้าอี้ไม้|มีดทำครัว|โคมไฟ|กระเป๋าเป้|ชาเขียว'),
    states: ['มีสินค้า', 'สินค้าหมด'],
    preamble: 'รายการราคา',
  },
  {
    encodings: [...unicode, 'gb18030', 'gb18030', 'gb18030'],
    decimal: '.',
    headers: [
      '商品编码|货号|产品编号',
      '商品名称|产品名称|品名',
      '描述|商品描述',
      '品牌',
      '分类|商品分类',
      '价格|售价|单价',
      '币种|货币',
      '库存状态',
    ].map(split),
    words: split('双人帐篷|保暖睡袋|木制椅子|厨房刀具|台灯白色|城市背包|绿茶礼盒|登山书籍|不锈钢水杯'),
    states: ['有货', '缺货'],
    preamble: '春季价格表',
  },
  {
    encodings: [...unicode, 'big5', 'big5', 'big5'],
    decimal: '.',
    headers: [
      '商品編號|貨號',
      '商品名稱|產品名稱',
      '商品說明|產品描述',
      '品牌|廠牌',
      '類別|商品分類',
      '價格|售價|單價',
      '幣別|貨幣',
      '庫存狀態',
    ].map(split),
    words: split('雙人帳篷|保暖睡袋|木製椅子|廚房刀具|白色檯燈|城市背包|綠茶禮盒|登山書籍|不鏽鋼水杯'),
    states: ['有貨', '缺貨'],
    preamble: '春季價格表',
  },
  {
    encodings: [...unicode, 'shift_jis', 'shift_jis', 'euc-jp', 'euc-jp'],
    decimal: '.',
    headers: [
      '商品コード|品番|商品番号',
      '商品名|製品名',
      '商品説明|説明',
      'ブランド|メーカー',
      'カテゴリ|カテゴリー',
      '価格|販売価格|単価',
      '通貨',
      '在庫状況',
    ].map(split),
    words: split(
      '二人用テント|あたたかい寝袋|木の椅子|キッチンナイフ|白いランプ|リュックサック|緑茶ギフト|登山の本',
    ),
    states: ['在庫あり', '在庫なし'],
    preamble: '春の価格表',
  },
  {
    encodings: [...unicode, 'euc-kr', 'euc-kr'],
    decimal: '.',
    headers: [
      '상품코드|제품코드',
      '상품명|제품명',
      '설명|상품설명',
      '브랜드|제조사',
      '카테고리',
      '가격|판매가',
      '통화',
      '재고상태',
    ].map(split),
    words: split('이인용 텐트|따뜻한 침낭|나무 의자|주방용 칼|하얀 램프|도시 배낭|녹차 선물'),
    states: ['재고있음', '품절'],
    preamble: '봄 가격표',
  },
];

const columns = [
  'sku',
  'product_name',
  'description',
  'brand',
  'category',
  'price',
  'currency',
  'availability',
] as const;
const optional = new Set(['description', 'brand', 'category', 'currency', 'availability']);

/** A generator of numbers from 0 to 1 (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Generates labeled files: the languages in turn, everything else by chance. */
export function generatedFiles(count: number, seed: number): { truth: Truth; bytes: Buffer }[] {
  const random = seeded(seed);
  return Array.from({ length: count }, (_, number) =>
    generatedFile(`generated-${number}`, languages[number % languages.length]!, random),
  );
}

function generatedFile(
  file: string,
  language: Language,
  random: () => number,
): { truth: Truth; bytes: Buffer } {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const chance = (part: number) => random() < part;
  const encodingName = pick(language.encodings);
  const delimiter = pick(language.decimal === ',' ? [';', ';', '\t', ',', '|'] : [',', ',', ';', '\t', '|']);
  const lineEnd = pick(['\n', '\r\n', '\r\n', '\r']);
  const quotesAll = chance(0.2);
  const cell = (text: string) =>
    quotesAll || text.includes(delimiter) || /["\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  const used = columns.filter((column) => !optional.has(column) || chance(0.65)).sort(() => random() - 0.5);
  const names = Object.fromEntries(
    used.map((column) => [column, pick(language.headers[columns.indexOf(column)]!)]),
  );
  const extra = chance(0.5) ? ['EAN', 'Weight_kg'] : [];
  const skipLines = chance(0.25) ? 1 + Math.floor(3 * random()) : 0;
  const thousands = chance(0.3) ? (language.decimal === ',' ? '.' : ',') : '';
  const price = () => {
    const whole = String(Math.floor(10 ** (1 + 3 * random())));
    const grouped = thousands && whole.length === 4 ? `${whole[0]}${thousands}${whole.slice(1)}` : whole;
    return `${grouped}${language.decimal}${pick(['99', '50', '00', '95'])}`;
  };
  const valueOf = (column: string, row: number) => {
    switch (column) {
      case 'sku':
        return pick([`A-${1000 + row}`, `${100_200 + row}`]);
      case 'price':
        return price();
      case 'currency':
        return 'EUR';
      case 'availability':
        return pick(language.states);
      case 'brand':
        return pick(['Acme', 'Nordlicht', 'Sol & Co']);
      case 'description':
        return chance(0.2)
          ? ''
          : `${pick(language.words)}, ${pick(language.words)}${chance(0.1) ? `${lineEnd}${pick(language.words)}` : ''}`;
      default:
        return pick(language.words);
    }
  };
  const rows = Array.from({ length: 1 + Math.floor(40 * random()) }, (_, row) => [
    ...used.map((column) => valueOf(column, row)),
    ...extra.map((_, at) => (at === 0 ? String(4_000_000_000_000 + row) : `0${language.decimal}5`)),
  ]);
  const header = [...used.map((column) => names[column]!), ...extra];
  const pads = chance(0.3);
  const preamble = Array.from({ length: skipLines }, (_, line) => {
    const text = line === 0 ? language.preamble : line === 1 ? '' : 'www.example.com';
    return pads ? cell(text) + delimiter.repeat(header.length - 1) : text;
  });
  const text = [...preamble, ...[header, ...rows].map((record) => record.map(cell).join(delimiter)), ''].join(
    lineEnd,
  );
  const encoding = encodingName.replace('-mark', '');
  const bytes = encode(text, encoding, { addBOM: encodingName.endsWith('-mark') });
  return {
    bytes,
    truth: {
      file: `${file} (${encodingName}, ${JSON.stringify(lineEnd)})`,
      encoding,
      delimiter,
      skip_lines: skipLines,
      decimal_separator: language.decimal,
      columns: Object.fromEntries(columns.map((column) => [column, names[column] ?? null])),
    },
  };
}
