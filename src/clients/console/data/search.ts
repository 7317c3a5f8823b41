const word = /[\p{L}\p{M}\p{N}]+/gu;
const charactersMin = 2;
const wordsMax = 8;

const isLongEnough = (text: string) => [...text].length >= charactersMin;
const wordsOf = (text: string) => text.match(word) ?? [];

/** Returns the words of a text that can be searched for; undefined without one. The last word may be incomplete. */
export const searchOf = (text: string): string | undefined =>
  wordsOf(text).filter(isLongEnough).slice(0, wordsMax).join(' ') || undefined;

/** Whether the search ignores words of a text. */
export const isSearchCut = (text: string): boolean =>
  wordsOf(text).some((each) => !isLongEnough(each)) || wordsOf(text).length > wordsMax;
