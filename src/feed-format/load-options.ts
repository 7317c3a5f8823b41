/**
 * How a feed changes the catalog. `upsert` inserts and updates; `replace` also withdraws products that the feed lacks; `update`
 * changes known products only.
 */
export type LoadMode = 'upsert' | 'replace' | 'update';

/** Options of a load in the form of an upload. */
export interface LoadOptions {
  mode: LoadMode;
  /** Part of the partner's catalog that a `replace` feed describes completely, and that new products belong to. */
  collection: string;
  /** Whether known products move to the collection: the form names it, or the mode is `replace`. */
  isCollectionNamed: boolean;
  /** Maximum percentage of skipped rows; null: no limit. */
  maxSkippedPercent: number | null;
  /** Maximum percentage of changed prices that jump; null: no limit. */
  maxPriceJumpPercent: number | null;
  /** The name of the format in the form; null: none. */
  formatName: string | null;
}

/** Options of a load in a form or a source; an absent member has its default. */
export type LoadChoice = Partial<Omit<LoadOptions, 'isCollectionNamed'>>;

export function loadOptionsOf({
  mode = 'upsert',
  collection,
  maxSkippedPercent = null,
  maxPriceJumpPercent = null,
  formatName = null,
}: LoadChoice): LoadOptions {
  return {
    mode,
    collection: collection ?? 'main',
    isCollectionNamed: collection !== undefined || mode === 'replace',
    maxSkippedPercent,
    maxPriceJumpPercent,
    formatName,
  };
}

export const defaultLoadOptions = loadOptionsOf({});

/** Returns why a load fails: too many of its rows are skipped; undefined: it does not. */
export function skippedFailure(
  { maxSkippedPercent }: Pick<LoadOptions, 'maxSkippedPercent'>,
  { processed, skipped }: { processed: number; skipped: number },
): string | undefined {
  // Divided, to round the quotient like the limit: 0.7 * 11000 is less than 7700 in floating point.
  if (maxSkippedPercent === null || skipped === 0 || (skipped * 100) / processed <= maxSkippedPercent)
    return undefined;
  return `${skipped} of ${processed} rows were skipped, more than the ${maxSkippedPercent} % that max_skipped_percent allows.`;
}
