const line = /^"?sep=([^\r\n])"?[ \t]*(?:\r\n|\r|\n|$)/i;

/** Maximum length of a delimiter line. */
export const delimiterLineMax = 256;

/**
 * Finds the line that states the delimiter for Excel, at the beginning of a text.
 * @param beginning - the first `delimiterLineMax` characters of the text or more, without a byte order mark
 * @returns the stated character, and the length of the line with its end; undefined without it
 */
export function findDelimiterLine(beginning: string): { stated: string; length: number } | undefined {
  const found = line.exec(beginning.slice(0, delimiterLineMax));
  return found ? { stated: found[1]!, length: found[0].length } : undefined;
}
