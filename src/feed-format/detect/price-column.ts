import { currencyInHeader, currencyInPrice, minorDigitsOf } from '../currency';
import { isNumber, type Column } from './column-cells';
import { detectDecimal, type PriceCell } from './detect-decimal';
import type { PriceReading } from './format-doubts';

/**
 * Finds the notation and the currency of a column of prices.
 * @param currencyCells - the cells of the column of currencies, if there is one
 */
export function readPriceColumn(column: Column, currencyCells: readonly string[] | undefined): PriceReading {
  return {
    ...detectDecimal(priceCells(column, currencyCells)),
    currency: currencyOf(column, currencyCells),
  };
}

/** Adds the known currency to prices: from cell, row or header. */
function priceCells({ header, cells }: Column, currencyCells: readonly string[] | undefined): PriceCell[] {
  const ofHeader = currencyInHeader(header);
  return cells.map((text, at) => {
    const code = currencyInPrice(text)?.code ?? (currencyCells?.[at] || undefined)?.toUpperCase() ?? ofHeader;
    return { text, minorDigits: code === undefined ? undefined : minorDigitsOf(code) };
  });
}

/** Finds the source of the currency of a column of prices. */
function currencyOf(
  { header, cells }: Column,
  currencyCells: readonly string[] | undefined,
): PriceReading['currency'] {
  if (currencyCells?.some((cell) => cell !== '')) return 'cells';
  const named = cells.filter(isNumber).map(currencyInPrice);
  const [first] = named;
  if (named.length > 0 && named.every((each) => each && !each.isSign)) return 'cells';
  const ofHeader = currencyInHeader(header);
  if (ofHeader !== undefined) return { value: ofHeader };
  const isAlike = first !== undefined && named.every((each) => each?.code === first.code);
  if (isAlike) return { value: first.code };
  return named.length > 0 && named.every((each) => each !== undefined) ? 'signs' : 'unknown';
}
