import { strictFormat } from '../../feed-format/built-in-formats';
import { productColumns } from '../../feed-format/columns';
import { detectFormat, type FormatDetection } from '../../feed-format/detect/detect-format';
import type { FormatDefinition, ReadDefinition } from '../../feed-format/format-definition';
import type { LoadMode } from '../../feed-format/load-options';
import { applyMergePatch } from '../../feed-format/detect/merge-patch';
import { detectMark } from '../../feed-format/read/byte-order-mark';
import { isUtf8, wholeCharacters } from '../../feed-format/read/decode-text';
import { readHeader } from '../../feed-format/read/header';
import { guessHeaderNames } from '../../feed-format/read/header-names';
import { fileHint, gzipHint } from '../../feed-format/detect/file-hint';
import type { MultipartBody } from '../../http/body/multipart';
import { describeHeaders, inspectByFormat } from './inspect-by-format';
import { inspectRows, noRows, sampleOf, type InspectedRow, type InspectedRows } from './inspect-rows';
import type { FeedInspection, InspectionDoubt, StatedEncoding } from './inspection';
import { readBeginning, type FileBeginning } from './inspected-beginning';
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
  defaultCurrency: string,
): Promise<FeedInspection> {
  // Without `format`, the inspection ignores the partner's default.
  const asked = { ...admission, hasDefaultFormat: false };
  return admitUpload(body, asked, async ({ file, options: { mode }, form }) => {
    const beginning = await readBeginning(file, fileBytesMax);
    const { format } = await form.finish();
    return inspectFile(file, beginning, {
      definition: format?.definition ?? strictFormat,
      mode,
      defaultCurrency,
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
  }: { definition: ReadDefinition; mode: LoadMode; defaultCurrency: string },
): Promise<FeedInspection> {
  const { complete, isBlank } = file;
  const bytes = complete ? file.bytes : file.bytes.subarray(0, wholeCharacters(file.bytes));
  const encoding = encodingOf(bytes);
  const detection = isBlank ? undefined : detectFormat(bytes, { complete, defaultCurrency });
  const shown = detection?.draft?.columns.sku ? await rowsOfDraft(detection, complete) : undefined;
  const { refusal, isRefused, read } = await inspectByFormat(part, { ...file, bytes }, definition, mode);
  const { markBytes } = detectMark(bytes);
  const text = encoding === 'utf-8' ? bytes.subarray(markBytes) : (detection?.text ?? Buffer.alloc(0));
  const wayOut = isRefused && !isBlank && !read ? fileHint(bytes) : null;
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
    doubts: detection ? await withSamples(detection) : [],
    sample: shown?.sample ?? [],
    ...(read ?? {
      ...describeDetected(detection, encoding === 'utf-8' ? guessHeaderNames(text) : undefined),
      ...(shown?.rows ?? noRows),
    }),
  };
}

/** Describes the headers of a file that an upload without a format refuses, by its suggested format. */
function describeDetected(
  detection: FormatDetection | undefined,
  guess: ReturnType<typeof guessHeaderNames>,
): Pick<FeedInspection, 'delimiter' | 'headers'> {
  const detected = detection?.headers ?? [];
  const names = detected.length > 0 ? detected.map(({ header }) => header) : (guess?.names ?? []);
  const own = names.map((name) => productColumns.find((column) => column === name.toLowerCase()));
  const missing = productColumns.filter((column) => !own.includes(column));
  const described = describeHeaders(names, (position) => own[position], missing);
  if (detected.length === 0) return { delimiter: guess?.delimiter ?? null, headers: described };
  return {
    delimiter: detection!.delimiter.value ?? guess?.delimiter ?? null,
    headers: described.map((each, position) => {
      const { column, confidence, reason } = detected[position]!;
      const isElsewhere =
        column !== each.suggestion && detected.some((other) => other.column === each.suggestion);
      return { ...each, column, confidence, reason, suggestion: isElsewhere ? null : each.suggestion };
    }),
  };
}

/** Reads the rows by the suggested format or its draft. @returns undefined if it cannot read them */
async function rowsOfDraft(
  { draft, text }: FormatDetection,
  complete: boolean,
): Promise<{ rows: InspectedRows; sample: InspectedRow['values'][] } | undefined> {
  const header = readHeader(text!, draft as FormatDefinition);
  if ('problem' in header) return undefined;
  const rows = await inspectRows(text!, complete, header);
  return { rows, sample: sampleOf(rows) };
}

/** Size of the text from which the sample products of choices are read. */
const choiceBytes = 32 * 1024;

const choiceProducts = 3;

/** Adds to each choice the first products that differ between the choices. */
async function withSamples({ draft, doubts, text }: FormatDetection): Promise<InspectionDoubt[]> {
  const first = doubts.map(({ choices }) => choices[0]!.changes);
  const sampled: InspectionDoubt[] = [];
  for (const [at, doubt] of doubts.entries()) {
    const base = first.filter((_, other) => other !== at).reduce<unknown>(applyMergePatch, draft);
    const byLine: (Map<number, InspectedRow['values']> | undefined)[] = [];
    for (const { changes, valuePointer } of doubt.choices)
      byLine.push(
        valuePointer === null ? await productsOf(applyMergePatch(base, changes), text!) : undefined,
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

/** Reads the products at the beginning of a text by a definition. @returns them by line */
async function productsOf(definition: unknown, text: Buffer): Promise<Map<number, InspectedRow['values']>> {
  const header = readHeader(text, definition as FormatDefinition);
  if ('problem' in header) return new Map();
  const beginning = text.subarray(0, choiceBytes);
  const { rows } = await inspectRows(beginning, beginning.length === text.length, header, {
    rowsMax: Infinity,
  });
  return new Map(rows.map(({ line, values }) => [line, values]));
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
