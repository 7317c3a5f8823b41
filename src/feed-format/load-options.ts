/**
 * How a feed changes the catalog. `upsert` inserts and updates; `replace` withdraws what the feed lacks too; `update` changes
 * known products only.
 */
export type LoadMode = 'upsert' | 'replace' | 'update';

/** What the form of an upload says about the load, besides its file. */
export interface LoadOptions {
  mode: LoadMode;
  /** Part of the partner's catalog, which a `replace` feed describes as a whole, and to which new products belong. */
  collection: string;
  /** Whether known products move to the collection: the form names it, or the mode is `replace`. */
  isCollectionNamed: boolean;
  /** Maximum percentage of skipped rows; null: no limit. */
  maxSkippedPercent: number | null;
  /** Maximum percentage of changed prices that jump; null: no limit. */
  maxPriceJumpPercent: number | null;
  /** The format that the form names; null: none. */
  formatName: string | null;
}

/** What a form or a source states about the load; an absent member has its default. */
export type LoadChoice = Partial<Omit<LoadOptions, 'isCollectionNamed'>>;

/** Returns the options of a load, with defaults filled in. */
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
