import type { Database } from '../db/database';
import { findBuiltInFormat } from '../feed-format/built-in-formats';
import { requiredColumns } from '../feed-format/columns';
import type { FeedFormat } from '../feed-format/format-definition';
import type { LoadMode, LoadOptions } from '../feed-format/load-options';
import type { ShapeError } from '../shared/errors';
import { defaultFormatName, findFormatOf, isFormatName } from './formats.repository';

/** What an upload says about its format; the partner is undefined until the form has named it. */
export interface FormatChoice {
  partnerName: string | undefined;
  loadOptions: Pick<LoadOptions, 'formatName' | 'mode'>;
}

/** The format of an upload, null without one; its error; or `undecided`, as it depends on a partner that is not named yet. */
export type UploadFormat = { format: FeedFormat | null } | { error: ShapeError } | 'undecided';

/**
 * Finds the format of an upload: a built-in one, else the partner's of that name; the partner's `default` if the upload names
 * none. The decision waits for the partner only if some partner has a format of that name.
 */
export async function findUploadFormat(
  db: Database,
  { partnerName, loadOptions: { formatName, mode } }: FormatChoice,
): Promise<UploadFormat> {
  const wanted = formatName ?? defaultFormatName;
  if (partnerName === undefined && !findBuiltInFormat(wanted) && (await isFormatName(db, wanted)))
    return 'undecided';
  const format =
    findBuiltInFormat(wanted) ?? (partnerName && (await findFormatOf(db, partnerName, wanted))) ?? null;
  if (!format) return formatName === null ? { format: null } : { error: unknownFormat('body', formatName) };
  return withColumns(format, mode, 'format');
}

/** Refuses a format without a column that the mode needs. @param field - of the form that has named or defined the format */
export function withColumns(
  format: FeedFormat,
  mode: LoadMode,
  field: 'format' | 'format_definition',
): { format: FeedFormat } | { error: ShapeError } {
  const missing =
    mode === 'update' ? undefined : requiredColumns.find((name) => !format.definition.columns[name]);
  return missing ? { error: formatWithoutColumn(field, format.name, missing) } : { format };
}

export const unknownFormat = (place: 'body' | 'query', input: string): ShapeError => ({
  type: 'unknown_format',
  loc: [place, 'format'],
  msg: 'Input should be the name of a built-in format or of one of the partner',
  input,
});

const formatWithoutColumn = (field: string, input: string, column: string): ShapeError => ({
  type: 'format_without_column',
  loc: ['body', field],
  msg: `Format should have the column '${column}', except in mode 'update'`,
  input,
  ctx: { column },
});
