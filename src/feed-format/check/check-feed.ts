import { invalidShape, notCsv, ServiceError } from '../../base/errors';
import { strictFormat } from '../built-in-formats';
import { isCsvFile } from '../csv-file-type';
import type { FeedFormat } from '../format-definition';
import { columnFault } from '../format-faults';
import { skippedFailure, type LoadOptions } from '../load-options';
import { CheckedFile } from './checked-file';
import { BrokenFile, openFile, type OpenFile } from '../read/open-file';
import { issuesKept, type RowIssue, type RowIssueCount } from '../rows/row-issues';
import { transformRecord } from '../rows/transform';
import { FileReport, storedIssues } from './file-report';

/** How an upload would describe the file. */
export interface CheckedUpload extends Pick<LoadOptions, 'mode' | 'maxSkippedPercent'> {
  fileName: string;
  /** Null: without a format. */
  format: FeedFormat | null;
}

/** What a first load of a file into a catalog without products would report. */
export interface FeedCheck {
  /** The error of the upload; null if it would store the file. */
  refusal: ServiceError | null;
  /** Why the run would fail; null if it would complete. */
  runFailure: string | null;
  /** Rows that were read. */
  rows: number;
  /** Rows that would load. */
  loadable: number;
  /** Rows that would be skipped, superseded ones included. */
  skipped: number;
  /** Rows that a later row of the same sku supersedes. */
  superseded: number;
  /** Whether a valid row has a currency. */
  hasCurrencies: boolean;
  issueCounts: RowIssueCount[];
  /** The issues that a job keeps, in the order of the file. */
  issues: RowIssue[];
}

/** The clients send this media type with every file. */
const mediaType = 'text/csv';

/**
 * Checks a file as its upload and its first run do, without a service.
 *
 * Reads the file once, as a stream. Skus are compared with the file only: in mode `update`, known and unknown ones count as loadable.
 * @param content - the file as it would be sent; its chunks are kept
 * @throws errors of the content
 */
export async function checkFeed(content: AsyncIterable<Buffer>, upload: CheckedUpload): Promise<FeedCheck> {
  const { fileName, mode, format } = upload;
  const fault = format && columnFault(format, mode, 'format');
  if (fault) return refusedBy(invalidShape([fault]));
  if (!isCsvFile(fileName, mediaType, format !== null)) return refusedBy(notCsv());
  const definition = format?.definition ?? strictFormat;
  // The limit of the size is a setting of the service.
  const file = new CheckedFile({ definition, mode, fileName, bytesMax: Infinity });
  const accepted = file.accepted(content);
  try {
    const check = await checkRows(accepted, upload);
    // Thrown at the end of the file, but an unpacker that has failed meanwhile swallows it.
    return file.problem ? refusedBy(file.problem) : check;
  } catch (error) {
    if (error instanceof ServiceError) return refusedBy(error);
    throw error;
  } finally {
    await accepted.return(undefined);
  }
}

const nothingRead: FeedCheck = {
  refusal: null,
  runFailure: null,
  rows: 0,
  loadable: 0,
  skipped: 0,
  superseded: 0,
  hasCurrencies: false,
  issueCounts: [],
  issues: [],
};

const refusedBy = (refusal: ServiceError): FeedCheck => ({ ...nothingRead, refusal });

/** @throws ServiceError if an upload would refuse the file */
async function checkRows(
  accepted: AsyncGenerator<Buffer, undefined>,
  upload: CheckedUpload,
): Promise<FeedCheck> {
  const { format, mode } = upload;
  let report: FileReport | undefined;
  try {
    const file = await openFile(accepted, { definition: format?.definition ?? strictFormat, mode });
    report = new FileReport(file.header, mode);
    await readRows(file, report, upload);
    return resultOf(report, upload);
  } catch (error) {
    if (!(error instanceof BrokenFile)) throw error;
    // An upload checks the whole file before a run begins.
    for await (const _ of accepted);
    return report ? failedBy(error.message, report) : { ...nothingRead, runFailure: error.message };
  }
}

async function readRows(
  { header, records, close }: OpenFile,
  report: FileReport,
  { mode }: CheckedUpload,
): Promise<void> {
  const rows = records<never>(
    (place, text) => {
      report.addHeader(place, text);
      return null;
    },
    (record) => {
      const { line, lastLine, row } = record;
      report.addRow({ line, lastLine, row }, transformRecord(record, header, mode));
      return null;
    },
  );
  try {
    for await (const _ of rows);
  } finally {
    await close();
  }
  report.end();
}

function resultOf(report: FileReport, upload: CheckedUpload): FeedCheck {
  const rejected = [...report.reportSuperseded(), ...report.reportUnnamed()];
  const { rows, skipped, issues: log } = report;
  const failure = skippedFailure(upload, { processed: rows, skipped });
  if (failure === undefined)
    return { ...checkOf(report, rejected), runFailure: null, loadable: rows - skipped };
  // A failed run keeps as many issues of such rows as it shows.
  const kept = rejected.sort((a, b) => a.line - b.line).slice(0, issuesKept);
  for (const issue of kept) log.keep(issue);
  return failedBy(failure, report);
}

const failedBy = (runFailure: string, report: FileReport): FeedCheck => ({
  ...checkOf(report),
  runFailure,
  loadable: 0,
});

function checkOf(
  { rows, skipped, superseded, hasCurrencies, issues: log }: FileReport,
  rejected: readonly RowIssue[] = [],
): Omit<FeedCheck, 'runFailure' | 'loadable'> {
  return {
    refusal: null,
    rows,
    skipped,
    superseded,
    hasCurrencies,
    issueCounts: log.countsByCode,
    issues: storedIssues(log, rejected),
  };
}
