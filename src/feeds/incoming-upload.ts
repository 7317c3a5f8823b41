import type { Database } from '../db/database';
import { requestTimedOut } from '../shared/errors';
import type { FormPart, MultipartBody } from '../http/multipart';
import { holderOf, type Caller } from '../shared/caller';
import type { FeedFormat } from '../feed-format/format-definition';
import { half } from '../shared/concurrency-limit';
import { TransferLimit, type TransferRequest } from '../shared/transfer-limit';
import {
  discardContent,
  UploadForm,
  type FilePart,
  type ReadDefinition,
  type UploadFormOptions,
} from './upload-form';

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
  /** Requests whose form is refused, while their file is read. */
  refused: TransferLimit;
}

/** Maximum number of forms in progress, and of refused ones: each has half a megabyte of memory. */
export const concurrentForms = 32;

/** Maximum size of the body of a small upload. Others may take minutes, and the memory that the object store buffers. */
export const smallUploadBytes = 1024 * 1024;

/** @param concurrentUploads - maximum number of files in progress */
export function createUploadLimits(concurrentUploads: number): UploadLimits {
  // Small ones wait for none of the large.
  const largeMax = half(concurrentUploads);
  return {
    forms: new TransferLimit({ capacity: concurrentForms, what: 'forms of uploads' }),
    files: new TransferLimit({
      capacity: concurrentUploads,
      largeMax,
      largeMaxPerHolder: half(largeMax),
      what: 'uploads and inspections',
    }),
    refused: new TransferLimit({ capacity: concurrentForms, what: 'refused uploads' }),
  };
}

export interface UploadAdmission extends Pick<TransferRequest, 'refusal'> {
  db: Database;
  caller: Caller;
  uploadLimits: UploadLimits;
  readDefinition: ReadDefinition;
}

/** What is done with the file of an upload. */
interface UploadWork<T> {
  options: Omit<UploadFormOptions, 'readDefinition'>;
  /** Called with a permit. */
  receive: (upload: IncomingUpload) => Promise<T>;
  /** Reads an upload that is refused for its form, whatever follows; stores nothing, and throws. */
  refuse: (upload: IncomingUpload) => Promise<never>;
}

/**
 * Reads a form up to its file, and waits for a permit before it reads on. If `partner_name` comes after the file, the permit
 * counts for the API key.
 * @throws request_timeout when evicted for another caller; unavailable, invalid_shape, partner_not_allowed; the `refusal`;
 *   errors of the body, of `receive` and of `refuse`
 */
export async function admitUpload<T>(
  { parts, sender: client, announcedBytes = Infinity, abort }: MultipartBody,
  { db, caller, uploadLimits: { forms, files, refused }, refusal, readDefinition }: UploadAdmission,
  { options, receive, refuse }: UploadWork<T>,
): Promise<T> {
  const form = new UploadForm(db, caller.partnerName, { ...options, readDefinition });
  const evict = () => abort(requestTimedOut());
  const formRequest = { ...holderOf(caller), client, refusal };
  const askedAt = performance.now();
  let waitedMilliseconds = 0;
  const readForm = () => {
    waitedMilliseconds = performance.now() - askedAt;
    return readToFile(parts, form);
  };
  try {
    const file = await forms.run(formRequest, evict, readForm);
    if (!file) throw form.refusal()!;
    const format = await form.findFormat();
    const upload = { form, file, format, readRest: () => readRest(parts, form) };
    const asked = { ...formRequest, waitedMilliseconds };
    if (form.isRefused) return await refused.run(asked, evict, () => refuse(upload));
    const isLarge = announcedBytes > smallUploadBytes;
    const request = { ...asked, ...holderOf(caller, form.partnerName), isLarge };
    return await files.run(request, evict, () => receive(upload));
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
