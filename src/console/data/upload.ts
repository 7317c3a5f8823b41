import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import { sendForm, type Transfer } from './send-form';

interface Upload {
  partner: string;
  file: File;
  format?: string;
  mode?: Schemas['LoadMode'];
  collection?: string | null;
}

/** Stores a file as a feed; nothing is loaded. @param idempotencyKey - the same for each attempt */
export function uploadFeed(
  { partner, file, format, mode, collection }: Upload,
  idempotencyKey: string,
  transfer: Transfer = {},
): Promise<Schemas['FeedReceipt']> {
  const fields = {
    partner_name: partner,
    ...(format && { format }),
    ...(mode && { mode }),
    ...(collection && { collection }),
  };
  return sendForm('/feeds/upload', formOf(fields, file), { 'Idempotency-Key': idempotencyKey }, transfer);
}

/** More than an inspection looks at, so that the service sees that there is more. */
const inspectedBytes = 1_048_576;

export function inspectFeed(partner: string, file: File): Promise<Schemas['FeedInspection']> {
  // A part of a gzip file cannot be unpacked to its end.
  const isPacked = file.name.toLowerCase().endsWith('.gz');
  const beginning = isPacked ? file : new File([file.slice(0, inspectedBytes)], file.name, file);
  return bodyOf(
    client.POST('/feeds/inspect', {
      body: { partner_name: partner, file: '' },
      bodySerializer: () => formOf({ partner_name: partner }, beginning),
    }),
  );
}

/** Queues a run of the job. */
export const runJob = (jobId: string, query: { max_withdrawn?: number; allow_older?: boolean } = {}) =>
  bodyOf(
    client.POST('/jobs/{job_id}/run', {
      params: { path: { job_id: jobId }, query, header: { Prefer: 'respond-async' } },
    }),
  );

/** Makes a form whose file comes last, as the service demands. */
export function formOf(fields: Record<string, string>, file: File): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append('file', file, file.name);
  return form;
}
