import { detectFormat, type FormatDetection } from '../../src/feed-format/detect/detect-format';
import type { DoubtChoice } from '../../src/feed-format/detect/format-doubts';
import { applyMergePatch, patchAt } from '../../src/feed-format/detect/merge-patch';
import type { FormatDefinition } from '../../src/feed-format/format-definition';

/** Detects the format of a whole file. */
export const detect = (content: string | Buffer, options: { isUpdate?: boolean } = {}) =>
  detectFormat(Buffer.from(content), { complete: true, defaultCurrency: 'USD', ...options });

/** Joins lines to the text of a file. */
export const fileOf = (...lines: string[]) => [...lines, ''].join('\n');

/** Returns the doubts about a file of these lines, and what is known. */
export function doubtsOf(...lines: string[]) {
  const { draft, doubts, definition } = detect(fileOf(...lines));
  expect(definition === null).toBe(draft === null || doubts.length > 0);
  return {
    draft,
    about: doubts.map(({ about, code }) => `${about} ${code}`),
    labels: doubts.flatMap(({ choices }) => choices.map(({ label }) => label)),
  };
}

/** Returns the suggested format of a file of these lines; fails if anything is in doubt. */
export function definitionOf(...lines: string[]): FormatDefinition {
  const { definition, doubts } = detect(fileOf(...lines));
  expect(doubts).toEqual([]);
  return definition!;
}

/** Returns the header of a column in a draft. */
export const headerOf = (draft: FormatDetection['draft'], column: string) =>
  draft?.columns[column]?.from?.[0];

/** Applies a choice to a draft; a choice that wants a currency gets Swiss francs. */
export const answer = (format: unknown, { changes, valuePointer }: DoubtChoice) =>
  [changes, ...(valuePointer === null ? [] : [patchAt(valuePointer, 'CHF')])].reduce(applyMergePatch, format);
