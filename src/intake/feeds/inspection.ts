import type { ProductColumn } from '../../feed-format/columns';
import type { Encoding, FormatDefinition } from '../../feed-format/format-definition';
import type { Delimiter } from '../../feed-format/delimiter';
import type { FileHint } from '../../feed-format/detect/file-hint';
import type { DoubtChoice, FormatDoubt, FormatDraft } from '../../feed-format/detect/format-doubts';
import type { InspectedRow, InspectedRows } from './inspect-rows';

/** A header row of commas alone would make a response of 17 MB. */
export const inspectHeadersMax = 1_000;

export interface InspectedHeader {
  columnNumber: number;
  header: string;
  column: ProductColumn | null;
  /** That `column` is right, 0 to 1; 0 without it. */
  confidence: number;
  suggestion: ProductColumn | null;
}

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
  /** Detected format of a file that is not CSV in UTF-8, with the way out. */
  hint: FileHint | null;
  inspectedBytes: number;
  complete: boolean;
  /** What the file states or is. */
  encoding: StatedEncoding;
  /** What its bytes look like, if it states none. */
  detectedEncoding: Encoding | 'unknown';
  byteOrderMark: boolean;
  delimiter: Delimiter | null;
  decimalSeparator: '.' | ',' | null;
  skipLines: number;
  lineEnds: 'lf' | 'crlf' | 'mixed' | 'none';
  headers: InspectedHeader[];
  /** How to read the file; null where something is in doubt, and where no sku or no name was found. */
  suggestedFormat: FormatDefinition | null;
  /** What is known of how to read the file; null where there is a suggestion, or no sku or no name was found. */
  draftFormat: FormatDraft | null;
  doubts: InspectionDoubt[];
  /** First products under the format of the form, else under the suggested one. */
  sample: InspectedRow['values'][];
}

/** What an upload and a run would do with a file. */
export interface FileReading {
  refusal: string | null;
  /** Whether the content is refused, whatever the name of the file is. */
  isRefused: boolean;
  /** What can be said of a file whose header row can be read. */
  read?: Pick<FeedInspection, 'delimiter' | 'headers' | 'skipLines'> &
    InspectedRows &
    Partial<FeedInspection>;
}
