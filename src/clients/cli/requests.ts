import type { paths } from '../../../generated/openapi';

type Json<R> = R extends { content: { 'application/json': infer B } } ? B : never;
type Get<P extends keyof paths> = paths[P] extends { get: infer O } ? O : never;

/** The JSON of a 200 response to GET. */
export type JsonOf<P extends keyof paths> = Get<P> extends { responses: { 200: infer R } } ? Json<R> : never;

export type QueryOf<P extends keyof paths> =
  Get<P> extends { parameters: { query?: infer Q } } ? NonNullable<Q> : never;

/** The paths of the document with a GET that returns JSON. */
export type GetPath = { [P in keyof paths]: JsonOf<P> extends never ? never : P }[keyof paths];

export function pathText(template: string, parameters: Record<string, string> = {}): string {
  return template.replace(/\{([a-z_]+)\}/g, (_, name: string) => encodeURIComponent(parameters[name]!));
}

/** Makes a query string, without undefined parameters. */
export function queryText(parameters: object): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined) query.set(name, String(value));
  const text = query.toString();
  return text && `?${text}`;
}
