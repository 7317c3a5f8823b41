/** What precedes the decimals of a number; null where no number tells. */
export interface DecimalGuess {
  separator: '.' | ',' | null;
  confidence: number;
}

const units =
  /^[\p{Sc}A-Za-z]{0,4}\.?[\s\u00a0\u202f]*|[\s\u00a0\u202f]*[\p{Sc}A-Za-zа-яł円元원]{0,6}\.?$/giu;
const comma =
  /^\d+,\d{1,2}$|^\d+,\d{4}$|^\d{1,3}(?:[.\s\u00a0\u202f'’]\d{3})+,\d{1,4}$|^\d{1,3}(?:\.\d{3}){2,}$|^0,\d+$/;
const point =
  /^\d+\.\d{1,2}$|^\d+\.\d{4}$|^\d{1,3}(?:[,\s\u00a0\u202f'’]\d{3})+\.\d{1,4}$|^\d{1,3}(?:,\d{3}){2,}$|^0\.\d+$/;
/** Thousands, or three decimals. */
const thousandsComma = /^\d{1,3},\d{3}$/;
const thousandsPoint = /^\d{1,3}\.\d{3}$/;

/**
 * Finds the decimal separator of prices.
 * @param prices - cells of the column of prices
 * @param others - other cells, which are taken where the prices do not tell
 */
export function detectDecimal(prices: readonly string[], others: readonly string[]): DecimalGuess {
  for (const [cells, confidence] of [
    [prices, 0.95],
    [others, 0.7],
  ] as const) {
    const numbers = cells
      .filter((cell) => /\d/.test(cell) && cell.length <= 40)
      .map((cell) => cell.trim().replace(units, ''));
    const count = (pattern: RegExp) => {
      const found = numbers.filter((cell) => pattern.test(cell));
      // Few others may be lists.
      return cells === prices || new Set(found).size >= 3 ? found.length : 0;
    };
    const [commas, points] = [count(comma), count(point)];
    if (commas !== points) {
      const isClear = Math.min(commas, points) <= Math.max(commas, points) / 10;
      return { separator: commas > points ? ',' : '.', confidence: isClear ? confidence : 0.5 };
    }
    // Prices with thousands and without decimals.
    const [byComma, byPoint] = [count(thousandsComma), count(thousandsPoint)];
    if (cells === prices && byComma !== byPoint)
      return { separator: byComma > byPoint ? '.' : ',', confidence: 0.6 };
  }
  return { separator: null, confidence: 0.5 };
}
