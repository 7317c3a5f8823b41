import { exitCodes, Failure } from './failures';
import { inspectRefused } from './inspect';
import {
  cancelJob,
  cancelledRevertText,
  cancelledText,
  firstIssues,
  followJobRun,
  runAndFollow,
  type JobResource,
} from './jobs';
import { printable, printableJson } from './printable';
import { issuesReport, jobReport } from './report';
import type { Session, Work } from './session';
import { uploadFeed, type Receipt } from './upload';
import { openUploadedFile, type WorkbookOptions } from './workbook-file';

interface ResultOptions {
  strict?: boolean;
  issues: number;
}

/** Permissions of a run of a feed with mode `replace`. */
interface RunOptions extends ResultOptions {
  maxWithdrawn?: number;
  allowOlder?: boolean;
}

interface UploadOptions extends RunOptions, WorkbookOptions {
  partner: string;
  run: boolean;
  format?: string;
  mode?: string;
  collection?: string;
  maxSkippedPercent?: string;
  maxPriceJumpPercent?: string;
}

export function upload(path: string, options: UploadOptions): Work {
  return async (session) => {
    const receipt = await store(session, path, options);
    return options.run ? load(session, receipt.validation_job_id, options) : showReceipt(session, receipt);
  };
}

export function loadStored(jobId: string, options: RunOptions): Work {
  return (session) => load(session, jobId, options);
}

async function load(session: Session, jobId: string, options: RunOptions): Promise<number> {
  const permissions = { max_withdrawn: options.maxWithdrawn, allow_older: options.allowOlder };
  return showResult(
    session,
    options,
    await withRunHint(session, jobId, runAndFollow(session, jobId, permissions)),
  );
}

export function follow(jobId: string, options: ResultOptions): Work {
  return async (session) =>
    showResult(session, options, await withRunHint(session, jobId, followJobRun(session, jobId)));
}

export function cancel(jobId: string): Work {
  return async (session) => {
    const { job, cancelled } = await withRunHint(session, jobId, cancelJob(session, jobId));
    session.view.clear();
    const texts = {
      'before its start': cancelledText,
      'revert in progress': cancelledRevertText,
      'in progress': null,
    };
    const messageOf = cancelled && texts[cancelled];
    const text = `${messageOf ? `${messageOf(jobId)}\n` : ''}${jobReport(job)}`;
    process.stdout.write(session.json ? `${printableJson(job)}\n` : text);
    return cancelled ? exitCodes.done : exitCodes.refused;
  };
}

async function store(session: Session, path: string, options: UploadOptions): Promise<Receipt> {
  const { partner: partnerName, format, mode, collection, maxSkippedPercent, maxPriceJumpPercent } = options;
  const fields = {
    ...(format !== undefined && { format }),
    ...(mode !== undefined && { mode }),
    ...(collection !== undefined && { collection }),
    ...(maxSkippedPercent !== undefined && { max_skipped_percent: maxSkippedPercent }),
    ...(maxPriceJumpPercent !== undefined && { max_price_jump_percent: maxPriceJumpPercent }),
  };
  const file = await openUploadedFile(session, path, options);
  try {
    const receipt = await withHint('Nothing was run.', uploadFeed(session, file, partnerName, fields)).catch(
      (error: unknown) => inspectRefused(error, session, file, { partner: partnerName, format }),
    );
    const { feed_id, validation_job_id, duplicate_of } = receipt;
    const earlier = duplicate_of ? ` The same file was uploaded before, as feed ${duplicate_of}.` : '';
    session.view.note(printable(`Stored as feed ${feed_id}, with job ${validation_job_id}.${earlier}`));
    return receipt;
  } finally {
    await file.close();
  }
}

function withRunHint<T>({ invocation }: Session, jobId: string, work: Promise<T>): Promise<T> {
  const id = printable(jobId);
  return withHint(`A requested run continues: ${invocation} follow ${id} (or cancel ${id})`, work);
}

/** Adds a hint to a failure with an unknown outcome. */
async function withHint<T>(hint: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const isFinal =
      !(error instanceof Failure) ||
      [exitCodes.refused, exitCodes.usage].some((code) => code === error.exitCode);
    throw isFinal ? error : new Failure(error.exitCode, `${error.message}\n${hint}`, error.details);
  }
}

function showReceipt({ json }: Session, receipt: Receipt): number {
  const { feed_id, validation_job_id } = receipt;
  const text = `Feed ${feed_id} is stored, but not loaded: run job ${validation_job_id}.`;
  process.stdout.write(`${json ? printableJson(receipt) : printable(text)}\n`);
  return exitCodes.done;
}

async function showResult(
  session: Session,
  { strict, issues: count }: ResultOptions,
  job: JobResource,
): Promise<number> {
  const { service, view, json } = session;
  view.clear();
  process.stdout.write(json ? `${printableJson(job)}\n` : jobReport(job));
  if (!json && job.issue_counts.length > 0) {
    // A failure here does not change the result of the run.
    const issues = await firstIssues(session, job.job_id, count).catch((error: unknown) => {
      view.note((error as Error).message);
      return [];
    });
    const url = (path: string) => service.urlOf(`/jobs/${encodeURIComponent(job.job_id)}/${path}`).href;
    process.stdout.write(issuesReport(job, issues, url));
  }
  if (job.status !== 'completed') return exitCodes.refused;
  return strict && (job.summary?.skipped ?? 0) > 0 ? exitCodes.rowsSkipped : exitCodes.done;
}
