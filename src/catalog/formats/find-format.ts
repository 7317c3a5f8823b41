import type { Database } from '../../base/db/database';
import { findBuiltInFormat } from '../../feed-format/built-in-formats';
import type { FeedFormat } from '../../feed-format/format-definition';
import { columnFault } from '../../feed-format/format-faults';
import type { LoadMode, LoadOptions } from '../../feed-format/load-options';
import { invalidShape, type ShapeError } from '../../base/errors';
import { defaultFormatName, findFormatOf, isFormatName } from './formats.repository';

/** The format of an upload, null without one; or the error of the request. */
export type UploadFormat<Format = FeedFormat | null> = { format: Format } | { error: ShapeError };

/** Tells whether a form must name its partner before its format is known: some partner has a format of this name. */
export async function dependsOnPartner(db: Database, formatName: string | null): Promise<boolean> {
  const wanted = formatName ?? defaultFormatName;
  return !findBuiltInFormat(wanted) && (await isFormatName(db, wanted));
}

/** Finds the format of a name: a built-in one, else the partner's. @param partnerName - as stored; undefined: unknown */
async function findNamedFormat(
  db: Database,
  formatName: string,
  partnerName: string | undefined,
): Promise<FeedFormat | undefined> {
  return (
    findBuiltInFormat(formatName) ??
    (partnerName === undefined ? undefined : await findFormatOf(db, partnerName, formatName))
  );
}

/** Finds the format of an upload: the named one, else the `default` of its partner. */
export async function findUploadFormat(
  db: Database,
  partnerName: string | undefined,
  { formatName, mode }: Pick<LoadOptions, 'formatName' | 'mode'>,
): Promise<UploadFormat> {
  const format = await findNamedFormat(db, formatName ?? defaultFormatName, partnerName);
  if (format) return withColumns(format, mode, 'format');
  return formatName === null ? { format: null } : { error: unknownFormat('body', formatName) };
}

/** Gets the format that a query names. @throws validation_error when there is none */
export async function getFormatOfQuery(
  db: Database,
  formatName: string,
  partnerName: string | undefined,
): Promise<FeedFormat> {
  const format = await findNamedFormat(db, formatName, partnerName);
  if (!format) throw invalidShape([unknownFormat('query', formatName)]);
  return format;
}

/** Refuses a format without a column that the mode needs. @param field - of the form that has named or defined the format */
export function withColumns(
  format: FeedFormat,
  mode: LoadMode,
  field: 'format' | 'format_definition',
): UploadFormat<FeedFormat> {
  const error = columnFault(format, mode, field);
  return error ? { error } : { format };
}

const unknownFormat = (place: 'body' | 'query', input: string): ShapeError => ({
  type: 'unknown_format',
  loc: [place, 'format'],
  msg: 'Input should be the name of a built-in format or of a format of the partner',
  input,
});
