import { differ, isEmptyColumn, type Column } from './column-cells';
import { columnsNamed, headerWords } from './header-synonyms';
import { suggestColumn } from './header-suggestion';

/** The column of skus, or several if the file does not show which. */
export interface SkuChoice {
  chosen: Column | undefined;
  confidence: number;
  /** Columns that may have the skus, the likeliest first. */
  rivals: readonly Column[];
  /** Reason for the doubt: two columns are unique, or the one with the name is not. */
  doubt: 'several' | 'repeated' | null;
}

/** Minimum share of distinct cells, without equal rows. */
const distinctMin = 0.95;

const supplier =
  /^(?:supplier|vendor|manufacturer|mfr|mfg|mpn|oem|hersteller|lieferant|fournisseur|fabricant|proveedor|fabricante|fornitore|produttore|dostawc|producent|leverancier|fabrikant|поставщик|производител)/u;
const barcode = /^(?:ean\d*|gtin\d*|upc|barcode|isbn\d*)$/u;
/** Words for skus of products other than the row's. */
const related =
  /^(?:parent|related|upsells?|crosssells?|cross|bundle|bundled|grouped?|associated|master|configurable|accessory|accessories)$/u;
const ownSku =
  /^(?:retailer|our|own|internal|merchant|shop|store|item|product|variant|variation|code|number|no|nr|id|skus?)$/u;

/** From the best name to the worst. */
const Rank = { literal: 0, sure: 1, unsure: 2, supplier: 3, barcode: 4 } as const;
type Rank = (typeof Rank)[keyof typeof Rank];

interface Candidate {
  column: Column;
  rank: Rank;
  isDistinct: boolean;
  confidence: number;
}

/**
 * Chooses the column of skus.
 * @param rows - of the table, for dropping equal ones
 * @param known - the column, if the system that wrote the file is known
 */
export function chooseSku(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  known?: Column,
): SkuChoice {
  const kept = differentRows(rows);
  const found = columns.flatMap((column): Candidate[] => {
    const named = column === known ? { rank: Rank.literal, confidence: 1 } : nameOf(column.header);
    // No other name is as good as the name in a known system.
    if (named && known && column !== known) named.rank = Math.max(named.rank, Rank.sure) as Rank;
    return named ? [{ column, ...named, isDistinct: isDistinct(column, kept) }] : [];
  });
  const isBlank = found.every(({ column }) => isEmptyColumn(column));
  const candidates = found
    .filter(({ column }) => isBlank || !isEmptyColumn(column))
    .sort((a, b) => a.rank - b.rank || Number(b.isDistinct) - Number(a.isDistinct));
  const [first] = candidates;
  if (!first) return { chosen: undefined, confidence: 0, rivals: [], doubt: null };
  const best = candidates.filter(({ rank }) => rank === first.rank);
  const distinct = best.filter((each) => each.isDistinct);
  const isOpen =
    first.isDistinct &&
    distinct.some(({ column }) => differ(column, first.column)) &&
    first.rank !== Rank.literal;
  const doubt = !first.isDistinct ? 'repeated' : isOpen ? 'several' : null;
  return {
    chosen: doubt ? undefined : first.column,
    confidence: first.confidence,
    rivals:
      doubt === 'several'
        ? distinct.map(({ column }) => column)
        : doubt
          ? candidates.map(({ column }) => column)
          : [],
    doubt,
  };
}

/** Returns the positions of distinct rows; of equal rows, the first. */
function differentRows(rows: readonly (readonly string[])[]): number[] {
  const seen = new Set<string>();
  return rows.flatMap((row, at) => {
    const text = JSON.stringify(row);
    if (seen.has(text)) return [];
    seen.add(text);
    return [at];
  });
}

/** Tells whether nearly all cells of a column differ. */
function isDistinct({ cells }: Column, kept: readonly number[]): boolean {
  const filled = kept.map((at) => cells[at]!).filter((cell) => cell !== '');
  return filled.length === 0 || new Set(filled).size / filled.length >= distinctMin;
}

function nameOf(header: string): { rank: Rank; confidence: number } | undefined {
  if (header.toLowerCase() === 'sku') return { rank: Rank.literal, confidence: 0.99 };
  const words = headerWords(header);
  const named = columnsNamed(header).find(({ column }) => column === 'sku');
  if (words.some((word) => related.test(word))) return undefined;
  const hasSku = words.some((word) => /^skus?$/.test(word) || /(?:sku)$/.test(word));
  if (words.some((word) => supplier.test(word)))
    return hasSku || named ? { rank: Rank.supplier, confidence: 0.6 } : undefined;
  if (words.some((word) => barcode.test(word))) return { rank: Rank.barcode, confidence: 0.55 };
  if (hasSku && words.every((word) => ownSku.test(word))) return { rank: Rank.sure, confidence: 0.97 };
  if (named) return { rank: named.confidence >= 0.8 ? Rank.sure : Rank.unsure, confidence: named.confidence };
  if (hasSku) return { rank: Rank.unsure, confidence: 0.6 };
  const isSimilar = header.length <= 40 && suggestColumn(header, ['sku']) !== null;
  return isSimilar ? { rank: Rank.unsure, confidence: 0.45 } : undefined;
}
