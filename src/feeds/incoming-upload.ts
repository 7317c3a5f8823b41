import type { Database } from '../db/database';
import { requestTimedOut } from '../shared/errors';
import type { FormPart, MultipartBody } from '../http/multipart';
import { holderOf, type Caller } from '../shared/caller';
import type { FeedFormat } from '../feed-format/format-definition';
import { TransferLimit } from '../shared/transfer-limit';
import { discardContent, UploadForm, type FilePart, type UploadFormOptions } from './upload-form';

/** An upload, read up to the beginning of its file. */
export interface IncomingUpload {
  form: UploadForm;
  file: FilePart;
  /** Of the file; `undecided` until `partner_name` is read. */
  format: FeedFormat | null | 'undecided';
  /** @throws partner_not_allowed; errors of the body */
  readRest: () => Promise<void>;
}

interface UploadLimits {
  /** Requests before their file, counted per API key. */
  forms: TransferLimit;
  /** Requests whose file has begun, counted per partner. */
  files: TransferLimit;
  /** Of these, those that store a file which may be large. */
  largeFiles: TransferLimit;
}

/** Maximum number of forms that are read up to their file: each has half a megabyte of memory at most. */
export const concurrentForms = 32;

/** A longer body, or one of unknown length, is large: it may take minutes, and as many bytes as the object store buffers. */
export const smallUploadBytes = 1024 * 1024;

/** Returns how many of the permits of uploads large files may have: small ones wait for none of them. */
export const largeUploadsOf = (concurrentUploads: number) => Math.max(1, Math.floor(concurrentUploads / 2));

/** @param concurrentUploads - maximum number of files in progress */
export function createUploadLimits(concurrentUploads: number): UploadLimits {
  const largeMax = largeUploadsOf(concurrentUploads);
  return {
    forms: new TransferLimit({ capacity: concurrentForms, what: 'forms of uploads' }),
    files: new TransferLimit({ capacity: concurrentUploads, what: 'uploads and inspections' }),
    largeFiles: new TransferLimit({ capacity: largeMax, what: 'uploads of large files' }),
  };
}

export interface UploadAdmission {
  db: Database;
  caller: Caller;
  uploadLimits: UploadLimits;
}

/** What is done with the file of an upload. */
interface UploadWork<T> {
  options: UploadFormOptions;
  /** Whether `receive` stores the file; else it keeps its beginning. */
  storesFile: boolean;
  /** Called with a permit. */
  receive: (upload: IncomingUpload) => Promise<T>;
  /** Called without one if the form is refused, whatever follows. Reads the upload, keeps nothing of it, and throws. */
  refuse: (upload: IncomingUpload) => Promise<never>;
}

/**
 * Reads a form up to its file, and waits for a permit before it reads on. If `partner_name` comes after the file, the permit
 * counts for the API key.
 * @throws request_timeout when evicted for another caller; unavailable, invalid_shape, partner_not_allowed; errors of
 *   the body and of `work`
 */
export async function admitUpload<T>(
  { parts, sender: client, announcedBytes = Infinity, abort }: MultipartBody,
  { db, caller, uploadLimits: { forms, files, largeFiles } }: UploadAdmission,
  { options, storesFile, receive, refuse }: UploadWork<T>,
): Promise<T> {
  const form = new UploadForm(db, caller.partnerName, options);
  const evict = () => abort(requestTimedOut());
  try {
    const file = await forms.run({ ...holderOf(caller), client }, evict, () => readToFile(parts, form));
    if (!file) throw form.refusal()!;
    const format = await form.findFormat();
    const upload = { form, file, format, readRest: () => readRest(parts, form) };
    if (form.isRefused) return await refuse(upload);
    const request = { ...holderOf(caller, form.partnerName), client };
    const work = () => files.run(request, evict, () => receive(upload));
    const isLarge = storesFile && announcedBytes > smallUploadBytes;
    return await (isLarge ? largeFiles.run(request, evict, work) : work());
  } finally {
    await parts.return();
  }
}

async function readToFile(
  parts: AsyncGenerator<FormPart, void>,
  form: UploadForm,
): Promise<FilePart | undefined> {
  for (;;) {
    const { value: part, done } = await parts.next();
    if (done) return undefined;
    const file = await form.take(part);
    if (file) return file;
    await skip(part);
  }
}

async function readRest(parts: AsyncGenerator<FormPart, void>, form: UploadForm): Promise<void> {
  for await (const part of parts) {
    await form.take(part);
    await skip(part);
  }
}

async function skip(part: FormPart): Promise<void> {
  if (part.kind === 'file') await discardContent(part.content);
}
