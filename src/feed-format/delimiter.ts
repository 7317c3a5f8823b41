/** Delimiters of feeds; `|` only by a format. */
export const everyDelimiter = [',', ';', '\t', '|'] as const;
export type Delimiter = (typeof everyDelimiter)[number];
/** Delimiters that are tried, in this order. */
export const delimiters = [',', ';', '\t'] as const satisfies readonly Delimiter[];
