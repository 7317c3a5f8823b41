const word = /[\p{L}\p{M}\p{N}]+/gu;
const charactersMin = 2;
const wordsMax = 8;

const isLongEnough = (text: string) => [...text].length >= charactersMin;
const wordsOf = (text: string) => text.match(word) ?? [];

/** Returns the words that the service can search for; undefined without one. A reader may be in the middle of a word. */
export const searchOf = (text: string): string | undefined =>
  wordsOf(text).filter(isLongEnough).slice(0, wordsMax).join(' ') || undefined;

/** Whether words of a text are not searched for. */
export const isSearchCut = (text: string): boolean =>
  wordsOf(text).some((each) => !isLongEnough(each)) || wordsOf(text).length > wordsMax;
