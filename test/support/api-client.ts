/** A response with parsed JSON; other bodies are texts. */
export interface ApiResponse {
  status: number;
  headers: Headers;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- a type would only repeat what the tests state
  body: any;
}

/** An upload; undefined parts are omitted. */
export interface Upload {
  partnerName?: string;
  csv?: string | Uint8Array;
  fileName?: string;
  mediaType?: string;
  /** Additional fields, sent before the file. */
  fields?: Record<string, string>;
}

export interface UploadedFeed {
  feedId: string;
  submissionJobId: string;
  jobId: string;
}

export class ApiClient {
  constructor(
    readonly url: string,
    readonly key: string | undefined,
  ) {}

  /** Returns a client of the same service with another key, or none. */
  withKey(key: string | undefined): ApiClient {
    return new ApiClient(this.url, key);
  }

  /** Returns the same client of another process. */
  at(url: string): ApiClient {
    return new ApiClient(url, this.key);
  }

  get(path: string, headers: Record<string, string> = {}): Promise<ApiResponse> {
    return this.send('GET', path, { headers });
  }

  post(path: string, body?: unknown, headers: Record<string, string> = {}): Promise<ApiResponse> {
    if (body === undefined) return this.send('POST', path, { headers });
    const json = { 'content-type': 'application/json', ...headers };
    return this.send('POST', path, { headers: json, body: JSON.stringify(body) });
  }

  put(path: string, body: unknown): Promise<ApiResponse> {
    const headers = { 'content-type': 'application/json' };
    return this.send('PUT', path, { headers, body: JSON.stringify(body) });
  }

  /** Sends a request unchanged, with the key. */
  async send(method: string, path: string, init: RequestInit = {}): Promise<ApiResponse> {
    const headers = new Headers(init.headers);
    if (this.key !== undefined && !headers.has('x-api-key')) headers.set('x-api-key', this.key);
    const response = await fetch(this.url + path, { ...init, method, headers });
    const text = await response.text();
    const isJson = /[/+]json\b/.test(response.headers.get('content-type') ?? '');
    return {
      status: response.status,
      headers: response.headers,
      body: text === '' ? undefined : isJson ? (JSON.parse(text) as unknown) : text,
    };
  }

  /** Uploads a form with `partner_name` before `file`. */
  upload(upload: Upload): Promise<ApiResponse> {
    return this.send('POST', '/feeds/upload', { body: uploadForm(upload) });
  }

  /** Inspects the same form. */
  inspect(upload: Upload): Promise<ApiResponse> {
    return this.send('POST', '/feeds/inspect', { body: uploadForm(upload) });
  }

  /** Uploads a feed that must be accepted. */
  async uploadFeed(
    csv: string | Uint8Array,
    partnerName = 'Acme Outdoor',
    fields: Record<string, string> = {},
  ): Promise<UploadedFeed> {
    const { status, body } = await this.upload({ csv, partnerName, fields });
    if (status !== 201) throw new Error(`upload: ${status} ${JSON.stringify(body)}`);
    return { feedId: body.feed_id, submissionJobId: body.job_id, jobId: body.validation_job_id };
  }

  /** Uploads a feed and runs its job. @returns the identifiers and the job as returned by the run */
  async loadFeed(
    csv: string | Uint8Array,
    partnerName = 'Acme Outdoor',
    fields: Record<string, string> = {},
    query = '',
  ): Promise<UploadedFeed & { job: ApiResponse['body'] }> {
    const feed = await this.uploadFeed(csv, partnerName, fields);
    const { status, body } = await this.post(`/jobs/${feed.jobId}/run${query}`);
    if (status !== 200) throw new Error(`run: ${status} ${JSON.stringify(body)}`);
    return { ...feed, job: body };
  }
}

function uploadForm(upload: Upload): FormData {
  const form = new FormData();
  if (upload.partnerName !== undefined) form.set('partner_name', upload.partnerName);
  for (const [name, value] of Object.entries(upload.fields ?? {})) form.set(name, value);
  if (upload.csv !== undefined) {
    const file = new Blob([upload.csv], { type: upload.mediaType ?? 'text/csv' });
    form.set('file', file, upload.fileName ?? 'feed.csv');
  }
  return form;
}
