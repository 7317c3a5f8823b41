/** Delimiter of a feed; `|` only by its format. */
export type Delimiter = ',' | ';' | '\t' | '|';
/** Those that are tried, in this order. */
export const delimiters = [',', ';', '\t'] as const satisfies readonly Delimiter[];
