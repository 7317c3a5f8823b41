import { readdirSync, readlinkSync } from 'node:fs';
import { testKey, type TestService } from './service';

/** A response with its body as it came in. */
export interface Download {
  status: number;
  headers: Headers;
  bytes: Buffer;
}

/** Asks for a feed's raw file; past Prism, which would read its bytes as text. */
export async function download(
  { url }: TestService,
  feedId: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<Download> {
  const response = await fetch(`${url}/feeds/${feedId}/raw`, {
    method,
    headers: { 'x-api-key': testKey, ...headers },
  });
  return {
    status: response.status,
    headers: response.headers,
    bytes: Buffer.from(await response.arrayBuffer()),
  };
}

/** The files below a folder that this process has open. */
export function openFiles(folder: string): string[] {
  return readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      const file = readlinkSync(`/proc/self/fd/${descriptor}`);
      return file.startsWith(folder) ? [file] : [];
    } catch {
      // Closed by now.
      return [];
    }
  });
}
