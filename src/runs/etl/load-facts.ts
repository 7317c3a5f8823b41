import type { LoadMode } from '../../feed-format/load-options';
import { areMany } from './price-jumps';
import type { RunStats } from './run-stats';

/** What a load leaves for the reasons for which its partner needs attention. */
export interface LoadFacts {
  /** Whether rows have a price; null: the load does not tell. */
  prices: 'some' | 'none' | 'absent' | null;
  /** Products whose price jumps; null unless many do. */
  priceJumps: number | null;
  isCorrection: boolean;
}

/** Returns the facts of a load that has been applied. */
export function loadFacts(mode: LoadMode, stats: RunStats): LoadFacts {
  return {
    prices: pricesOf(mode, stats),
    priceJumps: areMany(stats.prices) ? stats.prices.jumped : null,
    isCorrection: stats.isCorrection,
  };
}

/** A feed that only updates leaves prices alone that it has no column for. */
function pricesOf(
  mode: LoadMode,
  { hasPrices, hasPriceColumn, copied, unchanged }: RunStats,
): LoadFacts['prices'] {
  if (hasPrices) return 'some';
  if (!hasPriceColumn) return mode === 'update' ? null : 'absent';
  return copied + unchanged > 0 ? 'none' : null;
}
