/** The address and key of the generated functions, and errors as exceptions: orval leaves both to the user. */
export const connection = { url: '', key: '' };

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string | null,
    readonly body: unknown,
  ) {
    super(`${status} ${code}`);
  }
}

export async function request<T>(path: string, init: RequestInit): Promise<T> {
  const headers = new Headers(init.headers);
  headers.set('x-api-key', connection.key);
  const response = await fetch(connection.url + path, { ...init, headers });
  const isJson = response.headers.get('content-type')?.startsWith('application/json');
  const body: unknown = isJson ? await response.json() : await response.text();
  if (!response.ok) throw new ApiError(response.status, response.headers.get('x-error-code'), body);
  return body as T;
}
