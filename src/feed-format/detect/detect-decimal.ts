export interface PriceCell {
  text: string;
  /** Minor digits of the currency that cell, row or column name (ISO 4217); undefined: unknown. */
  minorDigits?: number;
}

/** The decimal separator; null if no number shows it. */
export interface DecimalGuess {
  separator: '.' | ',' | null;
  /** Reason for the doubt: thousands or three decimals (`1,125`), or contradictory numbers. */
  doubt: 'ambiguous' | 'contradictory' | null;
}

const units =
  /^[\p{Sc}A-Za-z]{0,4}\.?[\s\u00a0\u202f]*-?|[\s\u00a0\u202f]*[\p{Sc}A-Za-zа-яł円元원]{0,6}\.?$/giu;

/** Finds the decimal separator of prices, from all of them. */
export function detectDecimal(prices: readonly PriceCell[]): DecimalGuess {
  const counts = { '.': 0, ',': 0, ambiguous: 0 };
  for (const price of prices) {
    const evidence = evidenceOf(price);
    if (evidence) counts[evidence]++;
  }
  if (counts['.'] > 0 && counts[','] > 0) return { separator: null, doubt: 'contradictory' };
  if (counts['.'] + counts[','] > 0) return { separator: counts['.'] > 0 ? '.' : ',', doubt: null };
  return { separator: null, doubt: counts.ambiguous > 0 ? 'ambiguous' : null };
}

/** Returns the decimal separator that a price shows; undefined: it has none, or is no number. */
function evidenceOf({ text, minorDigits }: PriceCell): '.' | ',' | 'ambiguous' | undefined {
  if (text.length > 40) return undefined;
  const number = text.trim().replace(units, '');
  const found = /^([\d.,'’\s\u00a0\u202f]*)([.,])(\d+)$/.exec(number);
  if (!found) return undefined;
  const [, before, last, decimals] = found as unknown as [string, string, '.' | ',', string];
  const other = last === '.' ? ',' : '.';
  if (before.includes(last)) {
    // A repeated separator separates thousands.
    const groups = `${before}${last}${decimals}`.split(last);
    const areThousands = groups.every((group, at) =>
      at === 0 ? /^\d{1,3}$/.test(group) : /^\d{3}$/.test(group),
    );
    return areThousands ? other : undefined;
  }
  if (before.includes(other) || decimals.length !== 3 || /^0|^\d{4}|['’\s\u00a0\u202f]/.test(before))
    return last;
  if (minorDigits === 3) return last;
  return minorDigits === 0 ? other : 'ambiguous';
}
