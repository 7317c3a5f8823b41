import type { Database } from '../db/database';
import { findBuiltInFormat } from '../feed-format/built-in-formats';
import type { FeedFormat } from '../feed-format/format-definition';
import { invalidShape } from '../shared/errors';
import { findFormatOf } from './formats.repository';
import { unknownFormat } from './upload-format';

/**
 * Gets the format that a query names: a built-in one, else the partner's of that name.
 * @param partnerName - as stored; undefined: only built-in formats are meant
 * @throws invalid_shape when there is none
 */
export async function getFormatOfQuery(
  db: Database,
  formatName: string,
  partnerName: string | undefined,
): Promise<FeedFormat> {
  const builtIn = findBuiltInFormat(formatName);
  const format =
    builtIn ?? (partnerName === undefined ? undefined : await findFormatOf(db, partnerName, formatName));
  if (!format) throw invalidShape([unknownFormat('query', formatName)]);
  return format;
}
