import type { ReadDefinition } from '../format-definition';
import { trimText } from '../text';
import { withoutTextMarks } from '../text-marks';

/** Reads the text of a cell. */
export type CellText = (text: string, isSku: boolean) => string;

/** Returns how a format reads cells: without text marks, and null words as empty. @returns undefined if it changes none */
export function cellTextOf({ null_values, text_marks }: ReadDefinition): CellText | undefined {
  const nullWords = new Set((null_values ?? []).map(trimText));
  if (nullWords.size === 0 && text_marks === undefined) return undefined;
  return (text, isSku) => {
    const unmarked = text_marks === undefined ? text : withoutTextMarks(text, isSku);
    return nullWords.has(trimText(unmarked)) ? '' : unmarked;
  };
}
