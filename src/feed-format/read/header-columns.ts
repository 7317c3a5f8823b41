import type { ProductColumn } from '../columns';
import type { Delimiter } from '../delimiter';
import type { ReadDefinition } from '../format-definition';
import { codesPosition } from '../report-columns';
import { comparable } from '../text';
import { FormatReading } from './format-reading';
import { resolveFormat, type ResolvedFormat } from './resolve-format';

export interface FeedHeader {
  delimiter: Delimiter;
  fieldCount: number;
  /** Positions of the product columns, from 0; of a join, the first cell. Missing columns are absent. */
  positions: Partial<Record<ProductColumn, number>>;
  /** Position of the codes, from 0, in a file of rejects; absent in any other file. */
  codes?: number;
  /** Whether the records end in a delimiter, which is no field. Always false in strict reading. */
  endsWithDelimiter: boolean;
  /** How the records are read. */
  reading: FormatReading;
}

/** Header with its trimmed names: there may be hundreds of thousands, too many to keep during a run. */
export interface NamedHeader extends FeedHeader {
  names: string[];
}

/** Why a header cannot be read: the public text (specification, section 7) and its error code. */
export interface HeaderProblem {
  problem: string;
  code: 'missing_columns' | 'duplicate_column' | 'header_too_long';
}

/**
 * Finds the columns of a definition among the names of a header row.
 * @param names - trimmed
 */
export function findHeaderColumns(
  names: string[],
  definition: ReadDefinition,
  place: Pick<ResolvedFormat, 'delimiter' | 'preamble'>,
): NamedHeader | HeaderProblem {
  const positions = new Map<string, number>();
  const repeated: number[] = [];
  for (const [position, name] of names.map(comparable).entries()) {
    const first = positions.get(name);
    if (first === undefined) positions.set(name, position);
    else repeated.push(first);
  }
  /** Headers as the definition spells them, by their positions. */
  const used = new Map<number, string>();
  const resolved = resolveFormat(definition, { ...place, hasHeaderRow: true }, (header) => {
    const position = positions.get(comparable(header));
    if (position !== undefined) used.set(position, header);
    return position;
  });
  const duplicate = repeated.find((position) => used.has(position));
  if (duplicate !== undefined) {
    return {
      problem: `Invalid CSV file: Duplicate header: ${used.get(duplicate)}`,
      code: 'duplicate_column',
    };
  }
  const codes = codesPosition(names);
  const reading = new FormatReading(resolved, codes);
  return {
    delimiter: place.delimiter,
    names,
    fieldCount: names.length,
    positions: reading.firstPositions,
    codes,
    endsWithDelimiter: false,
    reading,
  };
}
