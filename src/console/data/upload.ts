import type { Schemas } from '../api';
import { bodyOf, client } from '../api';

interface Upload {
  partner: string;
  file: File;
  format?: string;
  mode?: Schemas['LoadMode'];
  collection?: string;
}

/** Stores a file as a feed; nothing is loaded. */
export function uploadFeed({
  partner,
  file,
  format,
  mode,
  collection,
}: Upload): Promise<Schemas['FeedReceipt']> {
  const fields = {
    partner_name: partner,
    ...(format && { format }),
    ...(mode && { mode }),
    ...(collection && { collection }),
  };
  return bodyOf(
    client.POST('/feeds/upload', {
      body: { ...fields, file: '' },
      bodySerializer: () => formOf(fields, file),
    }),
  );
}

export function inspectFeed(partner: string, file: File): Promise<Schemas['FeedInspection']> {
  return bodyOf(
    client.POST('/feeds/inspect', {
      body: { partner_name: partner, file: '' },
      bodySerializer: () => formOf({ partner_name: partner }, file),
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
