import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import type { Definition } from './mapping';
import { sendFormData, type Transfer } from './send-form';

interface Upload {
  partner: string;
  file: File;
  /** Without a name, the service would take the partner's default format. */
  format: string;
  /** Saved under the name of the format, once the upload is accepted. */
  definition?: Definition;
  mode?: Schemas['LoadMode'];
  collection?: string | null;
}

/** Stores a file as a feed; nothing is loaded. @param idempotencyKey - the same for each attempt */
export function requestUpload(
  { partner, file, format, definition, mode, collection }: Upload,
  idempotencyKey: string,
  transfer: Transfer = {},
): Promise<Schemas['FeedReceipt']> {
  const fields = {
    partner_name: partner,
    format,
    ...(definition && { format_definition: JSON.stringify(definition) }),
    ...(mode && { mode }),
    ...(collection && { collection }),
  };
  return sendFormData('/feeds/upload', formOf(fields, file), { 'Idempotency-Key': idempotencyKey }, transfer);
}

/** More than an inspection considers, so that the service sees that the file is longer. */
export const inspectedBytes = 262_144 + 8;

/**
 * Inspects the beginning of a file; stores nothing.
 * @param reading - the format, by its name or as its current definition, and the mode; absent: without a format, as an upsert
 */
export function requestInspection(
  partner: string,
  file: File,
  { format, definition, mode }: Partial<Pick<Upload, 'format' | 'definition' | 'mode'>> = {},
  transfer: Transfer = {},
): Promise<Schemas['FeedInspection']> {
  // A part of a gzip file cannot be unpacked completely.
  const isPacked = file.name.toLowerCase().endsWith('.gz');
  const beginning = isPacked ? file : new File([file.slice(0, inspectedBytes)], file.name, file);
  const fields = {
    partner_name: partner,
    ...(format && { format }),
    ...(definition && { format_definition: JSON.stringify(definition) }),
    ...(mode && { mode }),
  };
  return sendFormData('/feeds/inspect', formOf(fields, beginning), {}, transfer);
}

/** Permissions of a run beyond the defaults. */
export interface RunOptions {
  max_withdrawn?: number;
  allow_older?: boolean;
}

export const requestJobRun = (jobId: string, query: RunOptions = {}) =>
  bodyOf(
    client.POST('/jobs/{job_id}/run', {
      params: { path: { job_id: jobId }, query, header: { Prefer: 'respond-async' } },
    }),
  );

/** Makes a form with the file last, as the service requires. */
export function formOf(fields: Record<string, string>, file: File): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append('file', file, file.name);
  return form;
}
