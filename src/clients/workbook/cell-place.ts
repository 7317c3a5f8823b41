/** Returns the column of a cell's place, from 0: `B7` is 1. */
export function columnIndex(place: string): number {
  let index = 0;
  for (let at = 0; at < place.length; at++) {
    const letter = place.charCodeAt(at) & ~0x20;
    if (letter < 65 || letter > 90) break;
    index = 26 * index + letter - 64;
  }
  return index - 1;
}

/** Returns the letters of a column, from 0. */
export function columnLetters(index: number): string {
  const rest = Math.floor(index / 26);
  return (rest > 0 ? columnLetters(rest - 1) : '') + String.fromCharCode(65 + (index % 26));
}

/** Returns the row of a cell's place, from 1. */
export const rowNumber = (place: string): number => Number(place.replace(/^[A-Za-z]+/, ''));
