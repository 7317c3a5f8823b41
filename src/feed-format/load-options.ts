import type { ShapeError } from '../shared/errors';

/**
 * How a feed changes the catalog. `upsert` inserts and updates; `replace` withdraws what the feed lacks too; `update` changes
 * known products only.
 */
const loadModes = ['upsert', 'replace', 'update'] as const;
export type LoadMode = (typeof loadModes)[number];

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

const nameCharactersMax = 64;
const namePattern = /^[a-z0-9-]*$/;
const percentPattern = /^\d{1,12}(?:\.\d{1,12})?$/;
const percentMax = 100;

export type LoadField = 'mode' | 'format' | 'collection' | 'max_skipped_percent' | 'max_price_jump_percent';

/** Fields of the form, with a function that parses each. */
export const loadFields: Record<LoadField, (text: string) => LoadChoice | Omit<ShapeError, 'loc'>> = {
  mode(text) {
    const mode = loadModes.find((known) => known === text);
    if (mode) return { mode };
    const expected = "'upsert', 'replace' or 'update'";
    return { type: 'enum', msg: `Input should be ${expected}`, input: text, ctx: { expected } };
  },

  format: (text) => nameError(text) ?? { formatName: text },

  collection: (text) => nameError(text) ?? { collection: text },

  max_skipped_percent: (text) => percentError(text) ?? { maxSkippedPercent: Number(text) },

  max_price_jump_percent: (text) => percentError(text) ?? { maxPriceJumpPercent: Number(text) },
};

export const loadFieldNames = Object.keys(loadFields) as LoadField[];

/** Returns the error of a text that is no percentage. */
function percentError(text: string): Omit<ShapeError, 'loc'> | undefined {
  if (!percentPattern.test(text)) {
    const msg = 'Input should be a valid number, unable to parse string as a number';
    return { type: 'float_parsing', msg, input: text };
  }
  if (Number(text) <= percentMax) return undefined;
  const msg = `Input should be less than or equal to ${percentMax}`;
  return { type: 'less_than_equal', msg, input: text, ctx: { le: percentMax } };
}

/** Returns the error of a text that is not the name of a collection or format. */
function nameError(text: string): Omit<ShapeError, 'loc'> | undefined {
  if (text === '') {
    const msg = 'String should have at least 1 character';
    return { type: 'string_too_short', msg, input: text, ctx: { min_length: 1 } };
  }
  if (text.length > nameCharactersMax) {
    const msg = `String should have at most ${nameCharactersMax} characters`;
    return { type: 'string_too_long', msg, input: text, ctx: { max_length: nameCharactersMax } };
  }
  if (namePattern.test(text)) return undefined;
  const { source: pattern } = namePattern;
  const msg = `String should match pattern '${pattern}'`;
  return { type: 'string_pattern_mismatch', msg, input: text, ctx: { pattern } };
}
