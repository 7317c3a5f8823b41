import { extname } from 'node:path';

const csvTypes = new Set(['text/csv', 'application/csv', 'application/vnd.ms-excel']);

/** Names of files that are read by a format. */
const formattedNames = /\.(?:csv|tsv)(?:\.gz)?$|\.txt$/i;

const gzipTypes = new Set(['application/gzip', 'application/x-gzip']);

/** Media types of other formats: the file is not CSV, regardless of its name. */
const foreignTypes = [
  /^(image|audio|video|font|model|message|multipart)\//,
  /^application\/(pdf|zip|gzip|x-gzip|x-tar|x-bzip2|x-7z-compressed|x-rar-compressed|vnd\.rar|x-zip-compressed|json|xml|rtf|msword|javascript|wasm|x-sqlite3|vnd\.openxmlformats-.*|vnd\.oasis\..*|vnd\.ms-(?!excel$).*)$/,
  /^text\/(html|json|xml|javascript|css|rtf|calendar|markdown)$/,
  /\+(json|xml|zip)$/,
];

/**
 * Tells whether an uploaded file counts as CSV, by its name and media type.
 * @param mediaType - without parameters; undefined if the part has none
 * @param hasFormat - whether the file is read by a format, which accepts more names
 */
export function isCsvFile(fileName: string, mediaType: string | undefined, hasFormat = false): boolean {
  const type = mediaType?.toLowerCase() ?? '';
  if (hasFormat && formattedNames.test(fileName)) {
    const isPacked = /\.gz$/i.test(fileName) && gzipTypes.has(type);
    return isPacked || !foreignTypes.some((foreign) => foreign.test(type));
  }
  // Not `extname`, which returns nothing for the name `.csv`.
  if (/\.csv$/i.test(fileName)) return !foreignTypes.some((foreign) => foreign.test(type));
  switch (extname(fileName).toLowerCase()) {
    case '':
    case '.txt':
      return csvTypes.has(type);
    default:
      return false;
  }
}
