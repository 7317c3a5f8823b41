import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { knownWordsOf } from '../../../../src/feed-format/detect/header-words';
import { meaningOf } from '../../../../src/feed-format/detect/header-meaning';
import { findWord, valueMeant, wordKey } from '../../../../src/feed-format/detect/known-words';
import knowledge from '../../../../src/feed-format/detect/knowledge.json';
import { project } from '../../../support/harness';

/** Headers by language, `header: field` or `header: field kind`. */
const headers: Record<string, string> = {
  en: 'SKU: sku | Item No.: sku | Product Name: product_name | sellingPrice: price our | Price excl. VAT: price net | Cost per item: price purchase | Compare at price: price list | Qty: quantity | Brand: brand | Supplier SKU: sku supplier | In stock?: availability',
  de: 'Art.-Nr.: sku | ArtNr: sku | Artikelbezeichnung: product_name | Verkaufspreis: price our | Preis (EK): price purchase | UVP: price list | Lieferantenartikelnummer: sku supplier | Warengruppe: category | Stückpreis: price plain | Währung: currency | Langtext: description',
  fr: "Réf.: sku | Code article: sku | Désignation: product_name | Prix d'achat HT: price purchase | Prix de vente TTC: price our | Marque: brand | Catégorie: category | Devise: currency | Quantité en stock: quantity",
  es: 'Cód. artículo: sku | Nombre del producto: product_name | P.V.P.: price our | Precio costo: price purchase | Descripción larga: description | Código de barras: ean | Existencias: quantity | Marca: brand',
  it: 'Codice articolo: sku | Nome prodotto: product_name | Prezzo di listino: price list | Prezzo di acquisto: price purchase | Giacenza: quantity | Valuta: currency | Descrizione breve: description short',
  pt: 'Código do produto: sku | Nome do produto: product_name | Preço de venda: price our | Preço de custo: price purchase | Descrição: description | Moeda: currency | Estoque: quantity',
  nl: 'Artikelnummer: sku | Productnaam: product_name | Verkoopprijs: price our | Inkoopprijs: price purchase | Adviesprijs: price list | Merk: brand | Voorraad: quantity | Omschrijving: description',
  pl: 'Indeks: sku | Kod produktu: sku | Nazwa towaru: product_name | Cena zakupu: price purchase | Cena brutto: price gross | Producent: brand | Stan magazynowy: quantity | Dostępność: availability',
  cs: 'Katalogové číslo: sku | Název zboží: product_name | Cena bez DPH: price net | Nákupní cena: price purchase | Výrobce: brand | Dostupnost: availability | Kategorie: category',
  sk: 'Kód tovaru: sku | Názov produktu: product_name | Predajná cena: price our | Nákupná cena: price purchase | Výrobca: brand | Dostupnosť: availability',
  sv: 'Artikelnr: sku | Benämning: product_name | Pris exkl. moms: price net | Inköpspris: price purchase | Varumärke: brand | Lagersaldo: quantity',
  da: 'Varenummer: sku | Varenavn: product_name | Salgspris: price our | Kostpris: price purchase | Varegruppe: category | Vejl. udsalgspris: price list',
  nb: 'Varenr: sku | Produktnavn: product_name | Utsalgspris: price our | Innkjøpspris: price purchase | Varemerke: brand | Beskrivelse: description',
  fi: 'Tuotenumero: sku | Tuotteen nimi: product_name | Hinta (sis. alv): price gross | Ostohinta: price purchase | Valmistaja: brand | Saatavuus: availability',
  hu: 'Cikkszám: sku | Termékkód: sku | Megnevezés: product_name | Nettó ár: price net | Beszerzési ár: price purchase | Gyártó: brand | Készlet: quantity',
  ro: 'Cod produs: sku | Denumire: product_name | Preț cu TVA: price gross | Preț de achiziție: price purchase | Producător: brand | Stoc: quantity',
  el: 'Κωδικός προϊόντος: sku | Ονομασία: product_name | Τιμή χωρίς ΦΠΑ: price net | Τιμή αγοράς: price purchase | Περιγραφή: description | Διαθεσιμότητα: availability',
  tr: 'Stok Kodu: sku | Ürün Adı: product_name | Satış Fiyatı: price our | Alış Fiyatı: price purchase | Marka: brand | Para Birimi: currency | Desi: weight',
  uk: 'Артикул: sku | Назва товару: product_name | Ціна закупівлі: price purchase | Оптова ціна: price wholesale | Виробник: brand | Залишок: quantity',
  ru: 'Арт.: sku | Наим.: product_name | Цена, руб.: price plain | Закупочная цена: price purchase | Розничная цена: price our | Штрихкод: ean | Остаток: quantity',
  th: 'รหัสสินค้า: sku | ชื่อสินค้า: product_name | ราคาขาย: price our | ราคาทุน: price purchase | ยี่ห้อ: brand | คงเหลือ: quantity | หมวดหมู่: category',
  vi: 'Mã hàng: sku | Tên hàng: product_name | Giá bán: price our | Giá vốn: price purchase | Thương hiệu: brand | Tồn kho: quantity',
  id: 'Kode Barang: sku | Nama Barang: product_name | Harga Jual: price our | Harga Beli: price purchase | Merek: brand | Stok: quantity | Deskripsi: description',
  zh: '货号: sku | 商品名称: product_name | 售价: price our | 卖价: price our | 进货价: price purchase | 市场价: price list | 库存数量: quantity | 品牌: brand | 商品條碼: ean',
  ja: '品番: sku | 商品コード: sku | 商品名: product_name | 単価: price plain | 定価: price list | 仕入価格: price purchase | 在庫数: quantity | 商品説明: description | JANコード: ean',
  ko: '상품코드: sku | 상품명: product_name | 판매가: price our | 공급가: price purchase | 소비자가: price list | 재고수량: quantity | 브랜드: brand',
  bg: 'Каталожен номер: sku | Наименование: product_name | Доставна цена: price purchase | Цена с ДДС: price gross | Наличност: availability | Марка: brand',
  hr: 'Šifra artikla: sku | Naziv artikla: product_name | Nabavna cijena: price purchase | MPC: price our | VPC: price wholesale | Proizvođač: brand',
  sl: 'Šifra izdelka: sku | Naziv: product_name | Prodajna cena: price our | Nabavna cena: price purchase | Blagovna znamka: brand | Zaloga: quantity',
  et: 'Tootekood: sku | Toote nimetus: product_name | Müügihind: price our | Ostuhind: price purchase | Tootja: brand | Laoseis: quantity',
  lv: 'Preces kods: sku | Nosaukums: product_name | Pārdošanas cena: price our | Iepirkuma cena: price purchase | Zīmols: brand | Atlikums: quantity',
  lt: 'Prekės kodas: sku | Pavadinimas: product_name | Pardavimo kaina: price our | Pirkimo kaina: price purchase | Gamintojas: brand | Likutis: quantity',
  he: 'מק"ט: sku | שם מוצר: product_name | מחיר לצרכן: price our | מחיר קנייה: price purchase | יצרן: brand | מלאי: quantity',
  ar: 'رمز المنتج: sku | اسم المنتج: product_name | سعر البيع: price our | سعر الشراء: price purchase | العلامة التجارية: brand | الكمية: quantity',
};

const rows = Object.entries(headers).flatMap(([language, list]) =>
  list.split(' | ').map((entry): [string, string, string] => {
    const at = entry.lastIndexOf(': ');
    return [language, entry.slice(0, at), entry.slice(at + 2)];
  }),
);

const described = (header: string) => {
  const meaning = meaningOf(header);
  return meaning && [meaning.field, meaning.kind].filter((part) => part !== undefined).join(' ');
};

/** From here on, a column is taken for what its header says. */
const claimed = 0.5;

it.each(rows)('%s: %s means %s', (_, header, meaning) => {
  expect(described(header)).toBe(meaning);
  expect(meaningOf(header)!.strength).toBeGreaterThanOrEqual(claimed);
});

describe('a header that only contains the word of a column', () => {
  const ours = [
    'sku',
    'product_name',
    'description',
    'brand',
    'category',
    'price',
    'currency',
    'availability',
  ];

  it.each([
    'price group, Preisgruppe, Preis gültig ab, Price Date, Preisliste, Preiseinheit, Cennik, Preço Especial De',
    'name of supplier, country name, File name, Customer name, Page title, Dateiname, Land, Lieferantenname',
    'sort code, tax code, Category ID, Order ID, Zolltarifnummer, Seriennummer, Kundennummer, Color code',
    'Barcode type, Price per kg, Tax class, Stock value, Max price, Mindestmenge, Lagerort, Shipping cost',
    'Marge %, Price level, Customer group, Meta description, SEO Title, Image alt text, Related products',
  ])('means no product column: %s', (list) => {
    const taken = list.split(', ').filter((header) => {
      const meaning = meaningOf(header);
      return meaning && meaning.strength >= claimed && ours.includes(meaning.field);
    });
    expect(taken).toEqual([]);
  });

  it('is a weaker price beside an unknown word', () => {
    expect(meaningOf('Price xyzzy')!.strength).toBeLessThan(claimed);
    expect(meaningOf('Xyzzypreis')!.strength).toBeLessThan(claimed);
  });
});

describe('the meaning of a header', () => {
  it('names the language in its reason', () => {
    expect(meaningOf('Cena zakupu')!.reason).toBe('its name is Polish for purchase price');
  });

  it.each(['price_eur', 'Preis in €', 'Price ($)'])(
    'is a price beside the code or sign of a currency: %s',
    (header) => {
      expect(meaningOf(header)).toMatchObject({ field: 'price', kind: 'plain' });
    },
  );

  it('has the taxes of a price beside its kind', () => {
    expect(meaningOf('VK brutto')).toMatchObject({ field: 'price', kind: 'our', taxes: 'gross' });
    expect(meaningOf('EK netto')).toMatchObject({ field: 'price', kind: 'purchase', taxes: 'net' });
  });

  it.each(['', '  ', '123', '__proto__', 'constructor', 'x'.repeat(1000)])(
    'does not exist for %j',
    (header) => {
      expect(meaningOf(header)).toBeUndefined();
    },
  );

  it('does not change with case, spaces around it and punctuation between its words', () => {
    const spaced = rows
      .map(([, header]) => header)
      .filter((header) => /^[\p{L} ]+$/u.test(header) && !/\p{Ll}\p{Lu}/u.test(header));
    const between = fc.constantFrom(' ', '_', '-', '.', ' / ', '  ');
    const around = fc.constantFrom('', ' ', '\u00a0', '\t ', '*', ':');
    const cased = fc.constantFrom(
      (text: string) => text,
      (text: string) => text.toUpperCase(),
      (text: string) => text.toLowerCase(),
    );
    fc.assert(
      fc.property(fc.constantFrom(...spaced), between, around, cased, (header, separator, edge, change) => {
        const variant = `${edge}${change(header).replaceAll(' ', separator)}${edge}`;
        expect(described(variant)).toBe(described(header));
      }),
      { seed: 20261128, numRuns: 1000 },
    );
  });

  it('exists or not, without an error, for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 120 }), (text) => {
        const meaning = meaningOf(text);
        expect(meaning === undefined || (meaning.strength >= 0 && meaning.strength <= 1)).toBe(true);
      }),
      { seed: 20261128, numRuns: 1000 },
    );
  });

  it('takes a time that grows no faster than the header', () => {
    const millisecondsOf = (header: string) => {
      const began = performance.now();
      for (let round = 0; round < 50; round += 1) meaningOf(header);
      return performance.now() - began;
    };
    const compound = (parts: number) => 'artikelpreis'.repeat(parts);
    millisecondsOf(compound(2));
    const [short, long] = [2, 8].map((parts) =>
      Math.min(...Array.from({ length: 5 }, () => millisecondsOf(compound(parts)))),
    );
    expect(long! / short!).toBeLessThan(30);
  });
});

describe('the data file', () => {
  const parts = { ...knowledge.words, ...knowledge.values };

  it('has a source for each part', () => {
    const unknown = Object.values(parts).flatMap(({ source }) =>
      source.filter((id) => !(id in knowledge.sources)),
    );
    expect(unknown).toEqual([]);
    expect(Object.values(parts).every(({ source }) => source.length > 0)).toBe(true);
  });

  it('has tags of languages that the platform knows', () => {
    const names = new Intl.DisplayNames('en', { type: 'language', fallback: 'none' });
    const tags = new Set(Object.values(parts).flatMap(({ words }) => Object.keys(words)));
    expect([...tags].filter((tag) => tag !== 'und' && names.of(tag) === undefined)).toEqual([]);
  });

  it('has words that mean their concept, alone and as a header', () => {
    const lost: string[] = [];
    for (const [concept, { words }] of Object.entries(knowledge.words))
      for (const [language, list] of Object.entries(words as Record<string, string[]>))
        for (const word of list) {
          const known = findWord(wordKey(word)) ?? [];
          const isKnown = known.some((each) => each.concept === concept && each.language === language);
          const found = knownWordsOf(word).some((each) => each.known.length > 0);
          if (!isKnown || !found) lost.push(`${concept} ${language} ${word}`);
        }
    expect(lost).toEqual([]);
  });

  it('has lines that a difference shows whole', () => {
    const file = join(project, 'src/feed-format/detect/knowledge.json');
    const lines = readFileSync(file, 'utf8').split('\n');
    expect(lines.filter((line) => line.length > 200)).toEqual([]);
  });

  it.each([
    ['auf Lager', 'in_stock'],
    ['RUPTURE DE STOCK', 'out_of_stock'],
    ['под заказ', 'backorder'],
    ['予約', 'preorder'],
    ['últimas unidades', 'limited_stock'],
    ['auf Anfrage', 'no_price'],
    ['https://schema.org/InStock', 'in_stock'],
    ['ask us later', undefined],
  ])('tells what the cell %j says', (cell, value) => {
    expect(valueMeant(cell)).toBe(value);
  });
});
