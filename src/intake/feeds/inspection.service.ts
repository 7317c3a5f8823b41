import type { Reads } from '../../base/db/reads';
import { strictFormat } from '../../feed-format/built-in-formats';
import { detectFormat, type FormatDetection } from '../../feed-format/detect/detect-format';
import type { FormatDefinition, ReadDefinition } from '../../feed-format/format-definition';
import type { LoadMode } from '../../feed-format/load-options';
import { detectMark } from '../../feed-format/read/byte-order-mark';
import { isUtf8, wholeCharacters } from '../../feed-format/read/decode-text';
import { readHeader } from '../../feed-format/read/header';
import { guessHeaderNames } from '../../feed-format/read/header-names';
import { fileHint, gzipHint, unknownEncodingHint } from '../../feed-format/detect/file-hint';
import { describeDetected } from '../../feed-format/detect/inspected-headers';
import type { MultipartBody } from '../../http/body/multipart';
import { withSamples } from './choice-samples';
import { inspectByFormat } from './inspect-by-format';
import { inspectRows, noRows, sampleOf, type InspectedRow, type InspectedRows } from './inspect-rows';
import type { FeedInspection, StatedEncoding } from './inspection';
import { readBeginning, type FileBeginning } from './inspected-beginning';
import { doubtUnknownSkus } from './known-skus';
import { PartnerCatalog } from './partner-catalog';
import type { IncomingFile } from './receive-feed';
import { admitUpload, type UploadAdmission } from './upload-form';

/**
 * Inspects the file of an upload form without storing it.
 * @throws validation_error, file_too_large; errors of `admitUpload`
 */
export async function inspectFeed(
  body: MultipartBody,
  fileBytesMax: number,
  admission: Omit<UploadAdmission, 'hasDefaultFormat'>,
  { reads, defaultCurrency }: { reads: Reads; defaultCurrency: string },
): Promise<FeedInspection> {
  // Without `format`, the inspection ignores the partner's default.
  const asked = { ...admission, hasDefaultFormat: false };
  return admitUpload(body, asked, async ({ file, options: { mode }, form }) => {
    const beginning = await readBeginning(file, fileBytesMax);
    const { format, partnerName } = await form.finish();
    return inspectFile(file, beginning, {
      definition: format?.definition ?? strictFormat,
      mode,
      defaultCurrency,
      catalog: new PartnerCatalog(reads, partnerName),
    });
  });
}

async function inspectFile(
  part: IncomingFile,
  file: FileBeginning,
  {
    definition,
    mode,
    defaultCurrency,
    catalog,
  }: { definition: ReadDefinition; mode: LoadMode; defaultCurrency: string; catalog: PartnerCatalog },
): Promise<FeedInspection> {
  const { complete, isBlank } = file;
  const bytes = complete ? file.bytes : file.bytes.subarray(0, wholeCharacters(file.bytes));
  const encoding = encodingOf(bytes);
  const detected = isBlank
    ? undefined
    : detectFormat(bytes, { complete, defaultCurrency, isUpdate: mode === 'update' });
  const shown = detected?.draft?.columns.sku ? await rowsOfDraft(detected, complete, mode) : undefined;
  const { refusal, isRefused, read } = await inspectByFormat(part, { ...file, bytes }, definition, mode);
  const ofDraft = shown && (await catalog.count(shown.rows.skus));
  const ofForm = read && (!definition.strict || !shown) ? await catalog.count(read.skus) : undefined;
  const detection = detected && (await doubtUnknownSkus(detected, ofDraft, { catalog, mode }));
  const { markBytes } = detectMark(bytes);
  const text = encoding === 'utf-8' ? bytes.subarray(markBytes) : (detection?.text ?? Buffer.alloc(0));
  const unknownText = detection?.text && detection.encoding.value === null ? unknownEncodingHint : null;
  const wayOut = isRefused && !isBlank && !read ? (fileHint(bytes) ?? unknownText) : null;
  return {
    refusal,
    hint:
      gzipHint(file.gzip, { hasFormat: !definition.strict, isText: detection?.text !== undefined }) ?? wayOut,
    inspectedBytes: bytes.length,
    complete,
    encoding,
    detectedEncoding: encoding === 'unknown' ? (detection?.encoding.value ?? 'unknown') : encoding,
    byteOrderMark: markBytes > 0,
    lineEnds: lineEndsOf(text.toString()),
    decimalSeparator: detection?.decimalSeparator ?? null,
    skipLines: detection?.skipLines ?? 0,
    suggestedFormat: detection?.definition ?? null,
    draftFormat: detection?.definition ? null : (detection?.draft ?? null),
    doubts: detection ? await withSamples(detection, mode) : [],
    sample: shown?.sample ?? [],
    knownSkus: ofForm ?? ofDraft ?? null,
    ...(read ?? {
      ...describeDetected(detection, encoding === 'utf-8' ? guessHeaderNames(text) : undefined),
      ...(shown?.rows ?? noRows),
    }),
  };
}

/** Reads the rows by the suggested format or its draft. @returns undefined if it cannot read them */
async function rowsOfDraft(
  { draft, text }: FormatDetection,
  complete: boolean,
  mode: LoadMode,
): Promise<{ rows: InspectedRows; sample: InspectedRow['values'][] } | undefined> {
  const header = readHeader(text!, draft as FormatDefinition, mode);
  if ('problem' in header) return undefined;
  const rows = await inspectRows(text!, complete, header, { mode });
  return { rows, sample: sampleOf(rows) };
}

/** Returns the encoding of a file: UTF-16 by its byte order mark, UTF-8, or `unknown`. */
function encodingOf(bytes: Buffer): StatedEncoding {
  const { encoding } = detectMark(bytes);
  if (encoding === 'utf-16le' || encoding === 'utf-16be') return encoding;
  return isUtf8(bytes) ? 'utf-8' : 'unknown';
}

function lineEndsOf(text: string): FeedInspection['lineEnds'] {
  const hasCrlf = text.includes('\r\n');
  const hasLf = /(?<!\r)\n/.test(text);
  if (hasCrlf && hasLf) return 'mixed';
  if (hasCrlf) return 'crlf';
  return hasLf ? 'lf' : 'none';
}
