import type { Database } from '../db/database';
import { requestTimedOut } from '../shared/errors';
import type { FormPart, MultipartBody } from '../http/multipart';
import { holderOf, type Caller } from '../shared/caller';
import type { LoadField } from '../feed-format/load-options';
import { TransferLimit } from '../shared/transfer-limit';
import { discardContent, UploadForm, type FilePart } from './upload-form';

/** An upload, read up to the beginning of its file. */
export interface IncomingUpload {
  form: UploadForm;
  file: FilePart;
  /** @throws partner_not_allowed; errors of the body */
  readRest: () => Promise<void>;
}

interface UploadLimits {
  /** Requests before their file, counted per API key. */
  forms: TransferLimit;
  /** Requests whose file has begun, counted per partner. */
  files: TransferLimit;
}

/** Forms are small: half a megabyte of memory at most. */
export const formsPerFile = 4;

/** @param capacity - maximum number of files in progress */
export function createUploadLimits(capacity: number): UploadLimits {
  const forms = new TransferLimit({ capacity: formsPerFile * capacity, what: 'forms of uploads' });
  // A request whose form was read can wait for a slot.
  const maxWaiting = formsPerFile * capacity;
  const files = new TransferLimit({ capacity, maxWaiting, what: 'uploads and inspections' });
  return { forms, files };
}

export interface UploadAdmission {
  db: Database;
  caller: Caller;
  uploadLimits: UploadLimits;
}

/** Rejects an upload for which there is no slot, whichever partner it names. @throws unavailable */
export function requireRoom({ caller, uploadLimits }: Omit<UploadAdmission, 'db'>): void {
  uploadLimits.files.requireRoom(holderOf(caller).group);
}

/**
 * Waits for a slot when the file begins, then calls `work`. If `partner_name` comes after the file, the slot counts
 * for the API key.
 * @param loadFields - the fields that the form has besides partner and file; others are ignored like unknown parts
 * @throws request_timeout when evicted for another caller; unavailable, invalid_shape, partner_not_allowed; errors of
 *   the body and of `work`
 */
export async function admitUpload<T>(
  body: MultipartBody,
  { db, caller, uploadLimits: { forms, files } }: UploadAdmission,
  loadFields: readonly LoadField[],
  work: (upload: IncomingUpload) => Promise<T>,
): Promise<T> {
  const { parts, bytesReceived: bytes } = body;
  const form = new UploadForm(db, caller.partnerName, loadFields);
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
  if (part.kind === 'file') await discardContent(part.content);
}
