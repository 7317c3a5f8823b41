import { constants, gunzipSync } from 'node:zlib';
import { detectFormat } from '../../feed-format/detect/detect-format';
import { fileHint, gzipHint, type FileHint } from '../../feed-format/detect/file-hint';
import type { FormatDoubt, FormatDraft } from '../../feed-format/detect/format-doubts';
import { describeDetected, type InspectedHeader } from '../../feed-format/detect/inspected-headers';
import type { FormatDefinition } from '../../feed-format/format-definition';
import { guessHeaderNames } from '../../feed-format/read/header-names';
import { isGzip } from '../../feed-format/read/unpack';

/** How a refused file could be read. */
export interface CheckAdvice {
  /** What the file is, if it is not CSV in UTF-8. */
  hint: FileHint | null;
  /** How to read the file; null if something is in doubt. */
  suggestedFormat: FormatDefinition | null;
  /** The known part of how to read it. */
  draftFormat: FormatDraft | null;
  doubts: readonly FormatDoubt[];
  headers: readonly InspectedHeader[];
}

/** The default of a service: its own is not known. */
const defaultCurrency = 'USD';

/** Maximum size of the unpacked beginning. */
const unpackedBytesMax = 4 * 1024 * 1024;

/**
 * Finds how a file could be read that an upload without a format refuses.
 * @param beginning - the first bytes of the file
 * @param isComplete - whether they are the whole file
 */
export function adviseOn(beginning: Buffer, isComplete: boolean, isUpdate: boolean): CheckAdvice {
  const isPacked = isGzip(beginning);
  const bytes = isPacked ? unpackBeginning(beginning) : beginning;
  const complete = isComplete && !isPacked;
  const detection = detectFormat(bytes, { complete, defaultCurrency, isUpdate });
  const { definition, draft, doubts, text } = detection;
  const packed = gzipHint(isPacked ? 'packed' : 'none', { hasFormat: false, isText: text !== undefined });
  return {
    hint: packed ?? fileHint(bytes),
    suggestedFormat: definition,
    draftFormat: definition ? null : draft,
    doubts,
    headers: describeDetected(detection, text && guessHeaderNames(text)).headers,
  };
}

/** Unpacks the beginning of a gzip file; returns no bytes of a broken one. */
function unpackBeginning(packed: Buffer): Buffer {
  try {
    return gunzipSync(packed, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: unpackedBytesMax });
  } catch {
    return Buffer.alloc(0);
  }
}
