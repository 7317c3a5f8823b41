import type { Database } from '../db/database';
import { requestTimedOut } from '../shared/errors';
import type { FormPart, MultipartBody } from '../http/multipart';
import { holderOf, type Caller } from '../shared/caller';
import { TransferLimit } from '../shared/transfer-limit';
import { drain, UploadForm, type FilePart } from './upload-form';

/** An upload that has come in up to its file. */
export interface IncomingUpload {
  form: UploadForm;
  file: FilePart;
  /** Reads the parts after the file. @throws partner_not_allowed; whatever the body throws */
  readRest: () => Promise<void>;
}

/** Limits of uploads and inspections in progress. */
interface UploadLimits {
  /** Of those whose file has not begun. Their partner is not known yet: they count for the API key. */
  forms: TransferLimit;
  /** Of those whose file has begun. */
  files: TransferLimit;
}

/** Forms are short and small beside files: half a megabyte of memory at most. */
export const formsPerFile = 4;

/** @param capacity - how many files are received at a time */
export function createUploadLimits(capacity: number): UploadLimits {
  const forms = new TransferLimit({ capacity: formsPerFile * capacity, what: 'forms of uploads' });
  // Whose form has come in can wait for a place.
  const maxWaiting = formsPerFile * capacity;
  const files = new TransferLimit({ capacity, maxWaiting, what: 'uploads and inspections' });
  return { forms, files };
}

/** Who uploads, and how many may at a time. */
export interface UploadAdmission {
  db: Database;
  caller: Caller;
  uploadLimits: UploadLimits;
}

/** Refuses an upload that cannot get a permit, whichever partner it names. @throws unavailable */
export function requireRoom({ caller, uploadLimits }: Omit<UploadAdmission, 'db'>): void {
  uploadLimits.files.requireRoom(holderOf(caller).group);
}

/**
 * Takes a permit when the file of an upload begins, or waits for one, and does `work` with it. Of an upload whose partner_name comes after
 * the file, the permit counts for the API key alone.
 * @throws request_timeout when another caller gets the permit; unavailable, invalid_shape, partner_not_allowed; whatever
 *   the body and `work` throw
 */
export async function admitUpload<T>(
  body: MultipartBody,
  { db, caller, uploadLimits: { forms, files } }: UploadAdmission,
  work: (upload: IncomingUpload) => Promise<T>,
): Promise<T> {
  const { parts, bytesReceived: bytes } = body;
  const form = new UploadForm(db, caller.partnerName);
  const evict = () => body.abort(requestTimedOut());
  try {
    const file = await forms.run({ ...holderOf(caller), bytes }, evict, () => readToFile(parts, form));
    if (!file) throw form.refusal()!;
    return await files.run({ ...holderOf(caller, form.partnerName), bytes }, evict, () =>
      work({ form, file, readRest: () => readRest(parts, form) }),
    );
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
  if (part.kind === 'file') await drain(part.content);
}
