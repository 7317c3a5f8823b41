import type { LoadMode } from '../../feed-format/load-options';
import { areMany } from './price-jumps';
import type { RunStats } from './run-stats';

/** Facts of a load from which the reasons follow for which its partner needs attention. */
export interface LoadFacts {
  /** Whether rows have a price; null: unknown from this load. */
  prices: 'some' | 'none' | 'absent' | null;
  /** Number of products whose price jumps; null unless there are many. */
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

/** A feed with mode `update` and without a price column, or whose empty prices keep the stored ones, leaves prices unchanged. */
function pricesOf(
  mode: LoadMode,
  { hasPrices, hasPriceColumn, keepsPrices, copied, unchanged }: RunStats,
): LoadFacts['prices'] {
  if (hasPrices) return 'some';
  if (!hasPriceColumn) return mode === 'update' ? null : 'absent';
  if (keepsPrices) return null;
  return copied + unchanged > 0 ? 'none' : null;
}
