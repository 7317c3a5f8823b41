import type { ProductColumn } from '../columns';

/**
 * Names of columns in the files of partners, best first; a name behind `?` may have another meaning too. Letters and
 * digits only, as `headerWord` writes them.
 * English with Google Merchant, Shopify, WooCommerce, PrestaShop and Magento; German; French; Spanish; Italian; Polish; Dutch;
 * Russian; Thai; Chinese; Japanese; Korean.
 */
const names: Record<ProductColumn, string> = {
  sku: `sku variantsku skucode skuid skuno skunumber itemsku productsku articlenumber articleno articlenr itemnumber itemno itemcode
    productcode productnumber productno partnumber partno ordernumber stockcode suppliersku vendorsku itemid articleid
    artikelnummer artikelnr artnr artnummer bestellnummer bestellnr produktnummer produktnr warennummer
    referenceproduit codearticle referencearticle codeproduit numeroarticle refproduit refarticle
    referenciaproducto codigoproducto codigoarticulo codigodeproducto codigodearticulo numerodearticulo codarticulo codart
    codicearticolo codiceprodotto codart codicedelprodotto
    indeksproduktu kodproduktu numerkatalogowy symbolproduktu numerartykulu kodtowaru
    artikelcode productnummer bestelnummer
    артикул кодтовара артикултовара кодпродукта
    รหัสสินค้า รหัสผลิตภัณฑ์
    商品编码 商品编号 产品编号 产品编码 货号 商品編號 產品編號 貨號 商品貨號
    商品コード 商品番号 品番 製品番号 製品コード 商品管理番号 型番 품번 상품코드 제품코드
    ? reference ref code productid id referencia riferimento codice codigo kod symbol indeks номер код nummer number mpn handle slug
    référence numero 编号 货品 상품번호 ean ean8 ean13 gtin gtin13 gtin14 upc barcode isbn isbn13`,
  product_name: `productname product_name name title producttitle itemname itemtitle articlename productlabel displayname
    produktname artikelname artikelbezeichnung produktbezeichnung produkttitel produktbezeichung artikeltitel
    nomproduit nomduproduit nomarticle designation titreproduit libelleproduit nomdelarticle
    nombreproducto nombredelproducto nombrearticulo nombredeproducto
    nomeprodotto nomedelprodotto nomearticolo titoloprodotto
    nazwaproduktu nazwatowaru nazwaartykulu nazwa
    productnaam artikelnaam productomschrijving
    название наименование названиетовара наименованиетовара
    ชื่อสินค้า ชื่อผลิตภัณฑ์ ชื่อ
    商品名称 产品名称 商品名稱 產品名稱 品名 商品标题 商品標題
    商品名 製品名 상품명 제품명
    ? bezeichnung bez benennung nom titre titel libelle intitule nombre titulo nome titolo denominazione denominacion tytul naam omschrijving имя
    товар product item article artikel produkt prodotto producto produit label 标题 名称 名稱 タイトル 名前 品目 이름`,
  description: `description productdescription longdescription bodyhtml fulldescription desc itemdescription details
    beschreibung produktbeschreibung artikelbeschreibung langtext langbeschreibung
    descriptionproduit descriptif descriptionlongue descriptionduproduit
    descripcion descripciondelproducto descripcionproducto descripcionlarga
    descrizione descrizioneprodotto descrizionearticolo descrizionelunga
    opis opisproduktu opistowaru
    beschrijving productbeschrijving langeomschrijving
    описание описаниетовара
    รายละเอียด คำอธิบาย รายละเอียดสินค้า
    描述 商品描述 产品描述 商品詳情 商品详情 產品描述 商品說明
    商品説明 説明 詳細メインコメント 商品説明文 製品説明 설명 상품설명
    ? omschrijving shortdescription summary bem bemerkung kurzbeschreibung text langtexte descriptioncourte note info 详情 說明 说明 コメント`,
  brand: `brand brands brandname manufacturer manufacturername productbrand vendor
    marke hersteller herstellername markenname
    marque fabricant nommarque
    marca fabricante produttore
    marka producent
    merk fabrikant merknaam
    бренд марка производитель торговаямарка
    ยี่ห้อ แบรนด์ ผู้ผลิต
    品牌 厂商 制造商 製造商 廠牌
    ブランド メーカー メーカー名 ブランド名 브랜드 제조사
    ? supplier lieferant fournisseur proveedor fornitore dostawca leverancier поставщик make 厂家`,
  category: `category categories productcategory categoryname categorypath producttype googleproductcategory productcategories maincategory
    kategorie kategorien warengruppe produktgruppe artikelgruppe produktkategorie kategoriename
    categorie categories categorieproduit nomcategorie
    categoria categorias categoriadelproducto familia
    categorie categoriaprodotto
    kategoria kategoriaproduktu kategorie
    productcategorie productgroep categorienaam
    категория категориятовара раздел
    หมวดหมู่ ประเภทสินค้า หมวดหมู่สินค้า
    分类 类别 商品分类 产品分类 類別 分類 商品分類 产品类别
    カテゴリ カテゴリー カテゴリ名 商品カテゴリ 카테고리 분류
    ? type gruppe group department rayon famille gamme grupa groep группа collection tags 类型 ジャンル`,
  price: `price regularprice variantprice listprice unitprice retailprice sellingprice salesprice productprice itemprice pricetaxexcl
    pricetaxincl priceincltax priceexcltax msrp grossprice
    preis regulaererpreis regulärerpreis verkaufspreis vkpreis vk uvp bruttopreis einzelpreis listenpreis stueckpreis stuckpreis preiseur preisineur preisbrutto
    prix prixttc prixdevente prixht prixunitaire prixpublic prixeur prixventettc
    precio precioventa preciodeventa pvp preciounitario precioeur preciodelista
    prezzo prezzovendita prezzodivendita prezzolistino prezzodilistino prezzounitario prezzoeur
    cena cenabrutto cenadetaliczna cenasprzedazy cenapln cenajednostkowa
    prijs verkoopprijs stuksprijs adviesprijs prijsinclbtw prijseur
    цена розничнаяцена ценаруб ценапродажи
    ราคา ราคาขาย ราคาต่อหน่วย
    价格 售价 单价 销售价 零售价 價格 售價 單價
    価格 販売価格 単価 税込価格 通常価格 가격 판매가 판매가격
    ? cost amount netprice nettopreis cenanetto betrag kosten montant importe importo kwota bedrag стоимость saleprice specialprice 定价 定価 金額`,
  currency: `currency currencycode pricecurrency isocurrency curr
    waehrung wahrung währung waehrungscode
    devise codedevise monnaie moneda divisa valuta waluta kodwaluty munteenheid valutacode валюта
    สกุลเงิน 货币 币种 貨幣 幣別 通貨 通貨コード 통화`,
  availability: `availability stockstatus instock availabilitystatus availabilitystate
    verfuegbarkeit verfugbarkeit lagerstatus verfügbarkeit
    disponibilite disponibilidad disponibilita dostepnosc beschikbaarheid leverbaarheid
    наличие доступность вналичии
    สถานะสินค้า มีสินค้า 库存状态 供货状态 庫存狀態 在庫状況 在庫 在庫状態 재고상태
    ? stock status lager bestand lagerbestand dispo disponible disponibile stan voorraad inventory stato estado statut 库存 庫存 狀態 状态 สต็อก`,
};

/** Confidence by a name alone. */
const sure = 0.95;
const doubtful = 0.62;

interface Synonym {
  column: ProductColumn;
  confidence: number;
  /** Position in the list; lower is better. */
  rank: number;
}

const synonyms = new Map<string, Synonym[]>();
for (const [column, list] of Object.entries(names) as [ProductColumn, string][]) {
  let confidence = sure;
  for (const [rank, name] of list.split(/\s+/).entries()) {
    if (name === '?') {
      confidence = doubtful;
      continue;
    }
    const word = plainWord(name);
    const known = synonyms.get(word) ?? [];
    if (!known.some((each) => each.column === column)) known.push({ column, confidence, rank });
    synonyms.set(word, known);
  }
}

/** Lower-case letters and digits of a text, without accents. */
function plainWord(text: string): string {
  const lower = text.normalize('NFKC').toLowerCase().replaceAll('ß', 'ss').replaceAll('ł', 'l');
  const latin = lower.replace(/[\u00c0-\u024f]+/g, (each) => each.normalize('NFD').replace(/\p{Mn}/gu, ''));
  return latin.replace(/[^\p{L}\p{N}\p{M}]/gu, '');
}

/** Splits a header into its words, without accents: `Preis (EK)` and `sellingPrice` have two each. */
export function headerWords(header: string): string[] {
  const split = header
    .slice(0, headerCharactersMax)
    .replace(/^g:/i, '')
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2');
  return split
    .split(/[^\p{L}\p{N}\p{M}€$]+/u)
    .map(plainWord)
    .filter((word) => word !== '');
}

/** Longer cells are no names. */
const headerCharactersMax = 100;

/** Words for a language or a unit of money behind a name. */
const suffix = /[\s_-](?:en|uk|us|gb|de|fr|es|it|pl|nl|ru|th|zh|ja|eur|usd|gbp|chf|pln|€|\$)$/i;

/** Finds the columns that a header may mean, by its name alone. */
export function columnsNamed(header: string): Synonym[] {
  if (header.length > headerCharactersMax) return [];
  const plain = header.trim().replace(/^g:/i, '');
  const shortened = [
    // A leading underscore marks additional information of an export.
    { text: plain, factor: plain.startsWith('_') ? 0.8 : 1 },
    { text: plain.replace(/[([（【].*$/su, ''), factor: 0.97 },
    { text: plain.replace(suffix, ''), factor: 0.9 },
    { text: plain.replace(/1$/, ''), factor: 0.85 },
  ];
  for (const { text, factor } of shortened) {
    const found = synonyms.get(plainWord(text));
    if (found) return found.map((each) => ({ ...each, confidence: each.confidence * factor }));
  }
  return [];
}
