import type { Encoding, FormatDefinition } from '../../feed-format/format-definition';
import type { Delimiter } from '../../feed-format/delimiter';
import type { InspectedHeader } from '../../feed-format/detect/inspected-headers';
import type { FileHint } from '../../feed-format/detect/file-hint';
import type { DoubtChoice, FormatDoubt, FormatDraft } from '../../feed-format/detect/format-doubts';
import type { InspectedRow, InspectedRows } from './inspect-rows';
import type { KnownSkus } from './partner-catalog';

/** Questions that the file leaves open. */
export type InspectionDoubt = Omit<FormatDoubt, 'choices'> & {
  /** Each with the first products that differ under it. */
  choices: (DoubtChoice & { sample: InspectedRow['values'][] })[];
};

export type StatedEncoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'unknown';

/** Result of an inspection, from the first 256 KiB of the unpacked file. */
export interface FeedInspection extends InspectedRows {
  /** The error of an upload; null if it would accept the file. */
  refusal: string | null;
  /** Detected format of a file that is not CSV in UTF-8, with the remedy. */
  hint: FileHint | null;
  inspectedBytes: number;
  complete: boolean;
  /** UTF-16 by the byte order mark, UTF-8, or `unknown`. */
  encoding: StatedEncoding;
  /** Detected encoding, if the file states none. */
  detectedEncoding: Encoding | 'unknown';
  byteOrderMark: boolean;
  delimiter: Delimiter | null;
  decimalSeparator: '.' | ',' | null;
  skipLines: number;
  lineEnds: 'lf' | 'crlf' | 'mixed' | 'none';
  headers: InspectedHeader[];
  /** How to read the file; null if something is in doubt, or no sku or no name was found. */
  suggestedFormat: FormatDefinition | null;
  /** The known part of how to read the file; null if there is a suggestion, or no sku or no name was found. */
  draftFormat: FormatDraft | null;
  doubts: InspectionDoubt[];
  /** First products read by the format of the form, else by the suggested one. */
  sample: InspectedRow['values'][];
  /** Skus that the partner has, by the format of the form, else by the suggested one; null if no rows could be read. */
  knownSkus: KnownSkus | null;
}

/** Results of an upload and a run for a file. */
export interface FileReading {
  refusal: string | null;
  /** Whether the content is refused, regardless of the file's name. */
  isRefused: boolean;
  /** Description of a file with a readable header row. */
  read?: Pick<FeedInspection, 'delimiter' | 'headers' | 'skipLines'> &
    InspectedRows &
    Partial<FeedInspection>;
}
