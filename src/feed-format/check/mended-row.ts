import type { ReadDefinition } from '../format-definition';
import type { LoadMode } from '../load-options';
import type { FeedRecord } from '../read/extract';
import type { FeedHeader } from '../read/header-columns';
import { findHeaderColumns } from '../read/header-columns';
import type { RowIssue } from '../rows/row-issues';
import { transformRecord } from '../rows/transform';
import { trimText } from '../text';
import { loadedCells, type RejectsHead } from '../write/mended-feed';

/** How a run reads the corrected rows of a file of rejects. */
export interface MendedReading {
  header: FeedHeader;
  mode: LoadMode;
}

/**
 * Returns how a run reads corrected rows.
 * @returns undefined if the definition cannot read them: a column that it reads is there twice
 */
export function mendedReading(
  { header: names, delimiter }: RejectsHead,
  definition: ReadDefinition,
  mode: LoadMode,
): MendedReading | undefined {
  const header = findHeaderColumns(names.map(trimText), definition, {
    delimiter,
    preamble: { lines: 0, bytes: 0 },
  });
  return 'problem' in header ? undefined : { header, mode };
}

/**
 * Lists the issues of one row of a file of rejects, as a run of the corrected file finds them.
 *
 * What only the service knows is left open: the skus of the catalog, and other rows with the same sku.
 * @param cells - generated columns included
 * @returns null for a row that the format ignores
 */
export function issuesOfRow(cells: readonly string[], { header, mode }: MendedReading): RowIssue[] | null {
  const record = recordOf(loadedCells(cells, header.fieldCount), Number(cells[0]));
  const { reading } = header;
  const isSplit = record.fieldCount <= header.fieldCount;
  if (reading.ignoresEmptyRows && record.firstFields(Infinity).every((_, at) => reading.isEmpty(record, at)))
    return null;
  if (isSplit && reading.dependsOnRecords && !reading.begin(record)) return null;
  return transformRecord(record, header, mode).issues ?? [];
}

function recordOf(cells: readonly string[], line: number): FeedRecord {
  return {
    line,
    lastLine: line,
    row: line,
    fieldCount: cells.length,
    // Corrected rows are written with quotes where they need them.
    misquoted: false,
    tooLong: false,
    repeatsHeader: false,
    field: (position) => cells[position],
    firstFields: (max) => cells.slice(0, max),
  };
}
