import type { Reads } from '../../base/db/reads';
import { microsPerDay, type Micros } from './point-in-time';
import { findPrices, type PricePeriod } from './prices.repository';
import { readHistory, type AskedHistory } from './product-history';

export interface ProductPrices {
  /** The current price; undefined if there is none. */
  current?: PricePeriod;
  /** The lowest price in the window before the current one; null if none is known. */
  lowestPrice: string | null;
  /** Beginning of the known part of the window. */
  observedFrom: Micros;
  /** Whether the whole window is known. */
  isComplete: boolean;
  /** Changes since the start of the window, newest first. */
  changes: PricePeriod[];
}

const changesMax = 1_000;

/** Reads the prices of a product. @throws product_not_found */
export function readPrices(reads: Reads, asked: AskedHistory, days: number): Promise<ProductPrices> {
  return readHistory(reads, asked, async (db, product) => {
    const now = Date.now() * 1000;
    const states = await findPrices(db, product, { days, now, newest: changesMax + 1 });
    return pricesOf(states, days, now);
  });
}

/**
 * Finds current and prior price: the lowest one in force at any moment of the `days` before the current price began (Directive
 * 98/6/EC, article 6a). A day has 24 hours. Without a current price, the days end at `now`.
 * @param states - the whole history of a product without gaps, or the result of `findPrices`; oldest first
 */
export function pricesOf(states: readonly PricePeriod[], days: number, now: Micros): ProductPrices {
  const periods = mergePeriods(states);
  const last = periods.at(-1);
  const current = last?.to === null && last.price !== null ? last : undefined;
  const end = current?.from ?? now;
  const start = end - days * microsPerDay;
  const shown = periods.filter(({ to }) => to === null || to > start);
  const begin = periods[0]?.from ?? end;
  return {
    current,
    lowestPrice: current
      ? lowestOf(shown.filter((period) => period !== current && period.currency === current.currency))
      : null,
    observedFrom: Math.max(start, begin),
    isComplete: begin <= start,
    changes: shown.reverse().slice(0, changesMax),
  };
}

/** Merges consecutive states with the same price. A withdrawn product has none. */
function mergePeriods(states: readonly PricePeriod[]): PricePeriod[] {
  const periods: PricePeriod[] = [];
  for (const state of states) {
    const price = state.isWithdrawn ? null : state.price;
    const period = { ...state, price, currency: price === null ? null : state.currency };
    const last = periods.at(-1);
    if (last && isSamePrice(last, period)) last.to = period.to;
    else periods.push(period);
  }
  return periods;
}

const isSamePrice = (one: PricePeriod, other: PricePeriod) =>
  one.price === other.price && one.currency === other.currency && one.isWithdrawn === other.isWithdrawn;

function lowestOf(periods: readonly PricePeriod[]): string | null {
  const prices = periods.flatMap(({ price }) => price ?? []);
  return prices.reduce<string | null>(
    (lowest, price) =>
      lowest === null || inTenThousandths(price) < inTenThousandths(lowest) ? price : lowest,
    null,
  );
}

function inTenThousandths(price: string): bigint {
  const [whole, decimals = ''] = price.split('.') as [string, string?];
  return BigInt(whole + decimals.padEnd(4, '0'));
}
