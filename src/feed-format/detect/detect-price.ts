import { differ, isEmptyColumn, numberText, shareOf, type Column } from './column-cells';
import { currencyInHeader, isActiveCurrency } from '../currency';
import { suggestColumn } from './header-suggestion';
import { columnsNamed, headerWords } from './header-synonyms';

/** The column of prices, or several if the file does not show which. */
export interface PriceChoice {
  chosen: Column | undefined;
  confidence: number;
  /** Columns that may have the prices; none: there is no doubt. */
  rivals: readonly Column[];
  /** Reason for the doubt. */
  doubt: 'several' | 'unsure' | 'unnamed' | null;
}

/* Words of a header, without accents; a compound is split at the word for a price. */

/** Words for a price at any position of a compound. */
const inCompounds =
  'prices?|preise?|prix|precios?|prezzo|prezzi|cena|ceny|prijs|prijzen|цена|ціна|hinta|fiyati?|価格|价格|價格|가격|ราคา';
const isPriceWord = new RegExp(`^(?:${inCompounds}|pris|pret|ar|τιμη|gia)$`, 'u');
const pricePrefix = new RegExp(`^(?:${inCompounds})(?:de|di|da|d)?(?=.)`, 'u');
const priceSuffix = new RegExp(`(?<=.)(?:${inCompounds}|pris)$`, 'u');
/** Match words that are, begin with or end with a price. */
export const priceWords: readonly RegExp[] = [isPriceWord, priceSuffix, pricePrefix];

/** Words for the partner's purchase price: never the price. */
const purchase =
  /^(?:costs?|unitcost|ek|hek|purchas\w*|buy|buying|wholesale|einkauf\w*|einstand\w*|coste|costo|cout|coutant|revient|achat\w*|acquist\w*|compra|zakup\w*|inkoop\w*|nakup\w*|beszerz\w*|innkj\w*|inkop\w*|indk\w*|osto\w*|alis|achizit\w*|αγορ\p{L}*|закуп\p{L}*|себестоимость|进价|进货|採購|采购|仕入\p{L}*|原価|원가|매입|ต้นทุน)$/u;

/** Words for the price that customers pay. */
const selling =
  /^(?:our|unser\w*|sell|selling|sales|vk|verkauf\w*|vente|venta|vendita|sprzedazy|verkoop|продажи|розничная|售|销售|販売|판매|ขาย)$/u;

/** Words for prices of other times, other customers, other quantities, or recommended prices. */
const special =
  /^(?:sale|special|offers?|promo\w*|rrp|srp|msrp|uvp|upe|compare|discount\w*|reduced|clearance|angebot\w*|aktion\w*|sonder\w*|rabatt\w*|streich\w*|statt|old|was|previous|former|oferta|oferty|offre|solde\w*|remise|barre|conseille|rebajad\w*|descuento|offerta|scontat\w*|sconto|aanbieding\w*|actie\w*|advies\w*|unverbindlich\w*|empfohlen\w*|recommended|suggested|akc\w*|скидк\p{L}*|акци\p{L}*|map|min|max|minimum|maximum|dealer|trade|reseller|distributor|tier|bulk|staffel\w*|base|grund\w*|特价|促销|割引|セール)$/u;

/** Words that make a header something else: a price per unit, a date, a fee, a quantity. */
const foreign =
  /^(?:per|pro|je|units|kg|g|l|liter|litre|m|m2|type|typ|dat|date|datum|start|end|from|to|valid|count|level|id|code|group|shipping|versand\w*|delivery|freight|deposit|pfand|fee|qty|quantity|menge|anzahl|weight|gewicht|stock|bestand|lager\w*|ean\d*|gtin\d*|upc|isbn\d*|barcode|width|height|length|depth|breite|hohe|lange|tiefe|size|grosse|volume|year|jahr|rating|position|sort|order|number|nr|no|rank|percent|prozent|points|pack|ve|taric|zolltarif\w*|hs)$/u;

/** Words for numbers that are no prices, even if no column has a name for prices. */
const taxes = /^(?:tax|taxes|vat|mwst|ust|tva|iva|btw|steuer\w*)$/u;

/** Words without a meaning beside the word for a price. */
const neutral =
  /^(?:in|a|the|de|del|du|la|le|regular\w*|regulaerer|normal\w*|standard|current|list|retail|unit|unitario|product|produkt|produit|producto|prodotto|article|artikel|item|variant|value)$/u;

const net = /^(?:net|netto|nett|ht|excl|exkl|excluding|exclusive|ohne)$/u;
const gross = /^(?:gross|brutto|ttc|incl|inkl|including|inclusive|inc)$/u;

/** From the best name to the worst. */
const Rank = { selling: 0, plain: 1, unsure: 2, special: 3, purchase: 4 } as const;
type Rank = (typeof Rank)[keyof typeof Rank];

interface Candidate {
  column: Column;
  rank: Rank;
  taxes: 'net' | 'gross' | undefined;
}

/** Minimum share of numbers in a column of numbers. */
const numbersMin = 0.7;
/** The same for a column without a known name. */
const numbersOnly = 0.95;

/**
 * Chooses the column of prices.
 * @param known - the column, if the system that wrote the file is known
 */
export function choosePrice(columns: readonly Column[], known?: Column): PriceChoice {
  if (known) return { chosen: known, confidence: 1, rivals: [], doubt: null };
  const named = columns.flatMap((column): Candidate[] => {
    const rank = rankOf(column.header);
    // Under a certain name, words replace missing prices.
    const needed = rank !== undefined && rank <= Rank.plain ? 0 : numbersMin;
    const hasNumbers = isEmptyColumn(column) || shareOf(column.cells, isNumber) > needed;
    return rank === undefined || !hasNumbers ? [] : [{ column, rank, taxes: taxesOf(column.header) }];
  });
  const possible = named.filter(({ rank }) => rank !== Rank.purchase);
  const filled = possible.filter(({ column }) => !isEmptyColumn(column));
  const candidates = filled.length > 0 ? filled : possible;
  const sure = candidates.filter(({ rank }) => rank <= Rank.plain);
  const best = sure.filter(({ rank }) => rank === Math.min(...sure.map((each) => each.rank)));
  const [first] = best;
  if (first) {
    const isOpen = hasDifferentCells(best) || (haveDifferentUnits(sure) && hasDifferentCells(sure));
    const rivals = isOpen ? (hasDifferentCells(best) ? best : sure) : [];
    return {
      chosen: rivals.length > 0 ? undefined : first.column,
      confidence: first.rank === Rank.selling ? 0.9 : 0.95,
      rivals: rivals.map(({ column }) => column),
      doubt: rivals.length > 0 ? 'several' : null,
    };
  }
  if (candidates.length > 0)
    return {
      chosen: undefined,
      confidence: 0,
      rivals: candidates.map(({ column }) => column),
      doubt: 'unsure',
    };
  const unknown = columns.filter(
    (column) =>
      columnsNamed(column.header).length === 0 &&
      !headerWords(column.header).some((word) =>
        [foreign, taxes, purchase].some((known) => known.test(word)),
      ) &&
      shareOf(column.cells, isNumber) >= numbersOnly,
  );
  return { chosen: undefined, confidence: 0, rivals: unknown, doubt: unknown.length > 0 ? 'unnamed' : null };
}

const isNumber = (cell: string) => numberText.test(cell);

function hasDifferentCells(candidates: readonly Candidate[]): boolean {
  const [first, ...others] = candidates;
  return others.some(({ column }) => differ(column, first!.column));
}

/** Returns whether columns are net and gross, or have two currencies. */
function haveDifferentUnits(candidates: readonly Candidate[]): boolean {
  const count = (units: (string | undefined)[]) => new Set(units.filter((unit) => unit !== undefined)).size;
  return (
    count(candidates.map((each) => each.taxes)) > 1 ||
    count(candidates.map(({ column }) => currencyInHeader(column.header))) > 1
  );
}

/** Splits a header into words, compounds included. */
const partsOf = (header: string) =>
  headerWords(header).flatMap((word) => [word, word.replace(priceSuffix, ''), word.replace(pricePrefix, '')]);

/** @returns undefined if the header names no price */
function rankOf(header: string): Rank | undefined {
  const words = headerWords(header);
  const parts = partsOf(header);
  const has = (pattern: RegExp) => parts.some((part) => pattern.test(part));
  const named = columnsNamed(header).find(({ column }) => column === 'price');
  const isPrice = has(/^vk$/u) || words.some((word) => priceWords.some((pattern) => pattern.test(word)));
  if (has(purchase)) return Rank.purchase;
  if (has(/^(?:rrp|srp|msrp|uvp)$/u)) return Rank.special;
  if (!named && !isPrice) return suggestColumn(header, ['price']) ? Rank.unsure : undefined;
  if (has(special)) return Rank.special;
  // The tax rate of prices.
  if (taxes.test(words[0] ?? '')) return Rank.unsure;
  if (has(foreign)) return Rank.unsure;
  const isPlain = words.every((word) =>
    partsOf(word).some(
      (part) =>
        [isPriceWord, neutral, selling, taxes, net, gross, /^\d+$/].some((known) => known.test(part)) ||
        isActiveCurrency(part.toUpperCase()),
    ),
  );
  if (has(selling)) return isPlain ? Rank.selling : Rank.unsure;
  return (named && named.confidence >= sureMin) || (isPlain && isPrice) ? Rank.plain : Rank.unsure;
}

/** Confidence of a name that hardly means anything but a price. */
const sureMin = 0.8;

function taxesOf(header: string): 'net' | 'gross' | undefined {
  const parts = partsOf(header);
  if (parts.some((part) => net.test(part))) return 'net';
  return parts.some((part) => gross.test(part)) ? 'gross' : undefined;
}
