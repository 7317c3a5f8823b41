import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterFile, eventually } from './harness';
import type { ApiClient, ApiResponse } from './api-client';

export const sourcePath = (partnerName: string, sourceName: string) =>
  `/partners/${encodeURIComponent(partnerName)}/sources/${encodeURIComponent(sourceName)}`;

export const putSource = (
  api: ApiClient,
  partnerName: string,
  sourceName: string,
  definition: object,
): Promise<ApiResponse> => api.put(sourcePath(partnerName, sourceName), definition);

export const csv = 'sku,product_name\nA,Tent\n';

/** A server of feeds with a replaceable response. */
export interface FeedServer {
  url: string;
  requests: IncomingMessage[];
  respond: (request: IncomingMessage, response: ServerResponse) => void;
}

/** Starts a server of feeds, which is stopped after the file. */
export async function startFeedServer(respond: FeedServer['respond']): Promise<FeedServer> {
  const server = createServer((request, response) => {
    feeds.requests.push(request);
    feeds.respond(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterFile(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const feeds: FeedServer = { url, requests: [], respond };
  return feeds;
}

/** Fetches a source now. @returns the fetch after its first attempt */
export async function fetchNow(api: ApiClient, partnerName: string, sourceName: string) {
  const path = sourcePath(partnerName, sourceName);
  const { status, body } = await api.post(`${path}/fetch`);
  expect(status).toBe(202);
  return eventually(`fetch ${body.fetch} has ended`, async () => {
    const { body: page } = await api.get(`${path}/fetches?limit=1`);
    const [fetch] = page.items;
    return fetch.fetch === body.fetch && fetch.attempts > 0 && fetch.status !== 'running' ? fetch : false;
  });
}
