import type { FormatDetection } from '../../feed-format/detect/detect-format';
import { applyMergePatch } from '../../feed-format/detect/merge-patch';
import type { FormatDefinition } from '../../feed-format/format-definition';
import type { LoadMode } from '../../feed-format/load-options';
import { readHeader } from '../../feed-format/read/header';
import { inspectRows, noRows, type InspectedRow, type InspectedRows } from './inspect-rows';
import type { InspectionDoubt } from './inspection';

/** Size of the text from which the products of choices are read. */
export const choiceBytes = 32 * 1024;

const choiceProducts = 3;

/** Adds to each choice the first products that differ between the choices. */
export async function withSamples(detection: FormatDetection, mode: LoadMode): Promise<InspectionDoubt[]> {
  const { doubts, text } = detection;
  const sampled: InspectionDoubt[] = [];
  for (const doubt of doubts) {
    const base = draftBeside(detection, doubt);
    const byLine: (Map<number, InspectedRow['values']> | undefined)[] = [];
    for (const { changes, valuePointer } of doubt.choices)
      byLine.push(
        valuePointer === null ? await productsOf(applyMergePatch(base, changes), text!, mode) : undefined,
      );
    const lines = [...new Set(byLine.flatMap((products) => [...(products?.keys() ?? [])]))].sort(
      (a, b) => a - b,
    );
    const differing = lines.filter((line) => {
      const texts = byLine.flatMap((products) => (products ? [JSON.stringify(products.get(line))] : []));
      return texts.length === 1 || new Set(texts).size > 1;
    });
    const shown = differing.slice(0, choiceProducts);
    const choices = doubt.choices.map((choice, index) => ({
      ...choice,
      sample: shown.flatMap((line) => byLine[index]?.get(line) ?? []),
    }));
    sampled.push({ ...doubt, choices });
  }
  return sampled;
}

/** Returns the draft with the first choices of all other doubts. */
export const draftBeside = (
  { draft, doubts }: Pick<FormatDetection, 'draft' | 'doubts'>,
  doubt: FormatDetection['doubts'][number],
): unknown =>
  doubts
    .filter((other) => other !== doubt)
    .map(({ choices }) => choices[0]!.changes)
    .reduce<unknown>(applyMergePatch, draft);

/** Reads the products at the beginning of a text by a definition. @returns them by line */
async function productsOf(
  definition: unknown,
  text: Buffer,
  mode: LoadMode,
): Promise<Map<number, InspectedRow['values']>> {
  const { rows } = await readBeginningBy(definition, text, mode);
  return new Map(rows.map(({ line, values }) => [line, values]));
}

/** Reads the rows at the beginning of a text by a definition; none if it cannot. */
export async function readBeginningBy(
  definition: unknown,
  text: Buffer,
  mode: LoadMode,
): Promise<InspectedRows> {
  const header = readHeader(text, definition as FormatDefinition, mode);
  if ('problem' in header) return noRows;
  const beginning = text.subarray(0, choiceBytes);
  return inspectRows(beginning, beginning.length === text.length, header, { rowsMax: Infinity, mode });
}
