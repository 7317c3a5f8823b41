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
