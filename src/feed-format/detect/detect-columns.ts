import { isKnownAvailability } from '../availability';
import { columnsNamed } from './header-synonyms';
import { suggestColumn } from './header-suggestion';
import { productColumns, type ProductColumn } from '../columns';
import { numberText, shareOf, type Column } from './column-cells';
import { trimText } from '../text';
import type { FormatDefinition } from '../format-definition';

type KnownAvailability = NonNullable<FormatDefinition['availability']>[string];

/** The column that a header means. */
export interface ColumnMatch {
  /** Position of the header, from 0. */
  position: number;
  column: ProductColumn;
  confidence: number;
}

interface Candidate extends ColumnMatch {
  rank: number;
}

/** Below this, a match is only a guess by spelling. */
const confidenceMin = 0.3;

/**
 * Finds the columns that headers mean, except for sku and price: by names and by cells. Each column has one header.
 * @param taken - positions that are sku or price, or may be
 */
export function detectColumns(
  columns: readonly Column[],
  taken: ReadonlySet<number | undefined>,
): ColumnMatch[] {
  const candidates = columns
    .filter(({ position }) => !taken.has(position))
    .flatMap(({ header, position, cells }) =>
      namedBy(header).map((named) => {
        const confidence = clamp(named.confidence + contentCheck(named.column, cells));
        return { ...named, position, confidence, isOwn: header.toLowerCase() === named.column };
      }),
    )
    .filter(({ column }) => column !== 'sku' && column !== 'price');
  candidates.sort((a, b) => b.confidence - a.confidence || a.rank - b.rank || a.position - b.position);
  const matches: ColumnMatch[] = [];
  for (const { position, column, confidence, isOwn } of candidates) {
    if (confidence < confidenceMin) continue;
    if (matches.some((each) => each.position === position || each.column === column)) continue;
    const hasRival =
      !isOwn &&
      candidates.some(
        (each) => each.column === column && each.position !== position && each.confidence >= rivalMin,
      );
    matches.push({
      position,
      column,
      confidence: round(hasRival ? Math.min(confidence, disputed) : confidence),
    });
  }
  return matches;
}

/** The choice is a guess if another header names the same column at least this well. */
const rivalMin = 0.75;
const disputed = 0.8;

const round = (number: number) => Math.round(100 * number) / 100;
const clamp = (number: number) => Math.min(0.99, Math.max(0, number));

function namedBy(header: string): Omit<Candidate, 'position'>[] {
  const own = productColumns.find((column) => column === header.toLowerCase());
  if (own) return [{ column: own, confidence: 0.99, rank: 0 }];
  const named = columnsNamed(header);
  if (named.length > 0) return named;
  const similar = header.length <= similarMax ? suggestColumn(header, productColumns) : null;
  return similar ? [{ column: similar, confidence: 0.45, rank: 1_000 }] : [];
}

const similarMax = 40;

/** Returns by how much the cells change the confidence in a column. */
function contentCheck(column: ProductColumn, cells: readonly string[]): number {
  const filled = cells.filter((cell) => cell !== '');
  if (cells.length === 0) return 0;
  if (filled.length === 0) return column === 'product_name' ? -0.2 : -0.1;
  const share = (test: (cell: string) => boolean) => shareOf(filled, test);
  switch (column) {
    case 'product_name':
      return share((cell) => numberText.test(cell)) > 0.8
        ? -0.5
        : share((cell) => /\p{L}/u.test(cell)) > 0.8
          ? 0.02
          : -0.2;
    case 'currency':
      return share((cell) => /^[A-Za-z]{3}$|^[$€£¥]$/.test(cell)) > 0.8 ? 0.02 : -0.5;
    case 'availability': {
      const words = new Set(filled.map((cell) => cell.toLowerCase()));
      const known = share((cell) => availabilityOf(cell) !== undefined);
      if (known > 0.8) return 0.03;
      // A quantity is no availability.
      if (share((cell) => numberText.test(cell)) > 0.5) return -0.7;
      return words.size <= 8 ? -0.35 : -0.6;
    }
    case 'category':
      // More likely a kind of product.
      if (filled.length >= 10 && new Set(filled).size === 1) return -0.2;
      return share((cell) => /^\d+(?:[.,]\d+)?$/.test(cell)) > 0.8 ? -0.4 : 0;
    default:
      return share((cell) => numberText.test(cell)) > 0.8 ? -0.4 : 0;
  }
}

/** Words of partners for availability that the cleaning of a feed does not know. */
const partnerWords: Partial<Record<KnownAvailability, string>> = {
  in_stock: `1|yes|y|true|auf lager|lieferbar|sofort lieferbar|verfügbar|vorrätig|ja|en stock|disponible|oui|sí|si|en existencia|disponibile|in magazzino|sì|
    dostępny|na stanie|w magazynie|tak|op voorraad|leverbaar|в наличии|есть|да|มีสินค้า|พร้อมส่ง|有货|现货|有貨|有库存|有庫存|在庫あり|有|○|あり|재고있음`,
  out_of_stock: `0|no|n|false|nicht auf lager|ausverkauft|nicht lieferbar|nicht verfügbar|vergriffen|nein|rupture|rupture de stock|épuisé|indisponible|non|
    en rupture de stock|agotado|sin existencias|no disponible|esaurito|non disponibile|niedostępny|brak|nie|niet op voorraad|uitverkocht|nee|нет в наличии|нет|
    สินค้าหมด|หมด|缺货|无货|缺貨|無貨|在庫なし|無|×|なし|品切れ|품절`,
  preorder:
    'vorbestellbar|vorbestellung|précommande|preventa|prenotabile|preordine|przedsprzedaż|voorverkoop|предзаказ|预售|預購|予約',
  backorder:
    'nachbestellt|nachlieferung|réapprovisionnement|sur commande|bajo pedido|su ordinazione|na zamówienie|nalevering|под заказ|お取り寄せ|取り寄せ',
  limited_stock: 'nur noch wenige|stock limité|残りわずか',
};

const standardWords = new Map(
  (Object.entries(partnerWords) as [KnownAvailability, string][]).flatMap(([standard, list]) =>
    list.split('|').map((partnerWord): [string, KnownAvailability] => [partnerWord.trim(), standard]),
  ),
);

const cleaned = (word: string) => word.trim().toLowerCase().replaceAll(/[ -]/g, '_');

/** Finds the standard word for a partner's word; undefined for an unknown one. */
function availabilityOf(word: string): string | undefined {
  const known = cleaned(word);
  if (isKnownAvailability(known)) return known;
  return known === 'instock'
    ? 'in_stock'
    : known === 'outofstock'
      ? 'out_of_stock'
      : standardWords.get(word.trim().toLowerCase());
}

/** Lists the words of a file that need a translation. */
export function availabilityWords(cells: readonly string[]): FormatDefinition['availability'] {
  const words = new Map<string, KnownAvailability>();
  for (const cell of cells) {
    const word = trimText(cell).toLowerCase();
    const standard = standardWords.get(word);
    if (standard) words.set(word, standard);
  }
  return words.size > 0 ? Object.fromEntries(words) : undefined;
}
