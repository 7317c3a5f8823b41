import { createLogger } from '@stoplight/prism-core';
import { getHttpOperationsFromSpec } from '@stoplight/prism-http';
import { createServer } from '@stoplight/prism-http-server';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

const specification = join(__dirname, '..', '..', 'spec', 'openapi.yaml');

/** A server that its caller must stop. */
export interface Stoppable {
  url: string;
  stop(): Promise<void>;
}

type Operations = Awaited<ReturnType<typeof getHttpOperationsFromSpec>>;

/** The document as Prism understands it: a second's work. */
export function readOperations(): Promise<Operations> {
  return getHttpOperationsFromSpec(specification);
}

/** Prism as a mock, which answers with the document's examples. */
export function startMock(operations: Operations): Promise<Stoppable> {
  return listen(operations, {
    isProxy: false,
    upstreamProxy: undefined,
    validateRequest: true,
    checkSecurity: true,
    validateResponse: true,
    errors: false,
    mock: { dynamic: false },
  });
}

/** Prism as a proxy, which turns an answer that breaks the document into a 500 with the header `sl-violations`. */
export function startProxy(operations: Operations, upstream: string): Promise<Stoppable> {
  return listen(operations, {
    isProxy: true,
    upstream: new URL(upstream),
    upstreamProxy: undefined,
    validateRequest: false,
    checkSecurity: false,
    validateResponse: true,
    errors: true,
    mock: { dynamic: false },
  });
}

/**
 * Starts proxies for the test files of a whole run: POST the address of a service, and the answer is that of its proxy.
 * To load Prism and to read the document takes seconds; here it is done once, not in every file (`prism-proxy.ts`).
 */
export async function startProxyMaker(): Promise<Stoppable> {
  const operations = await readOperations();
  const proxies: Stoppable[] = [];
  const server = createHttpServer((request, response) => {
    void (async () => {
      const proxy = await startProxy(operations, await text(request));
      proxies.push(proxy);
      response.end(proxy.url);
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.close();
      await Promise.all(proxies.map((proxy) => proxy.stop()));
    },
  };
}

async function listen(
  operations: Operations,
  config: Parameters<typeof createServer>[1]['config'],
): Promise<Stoppable> {
  const logger = createLogger('test', { enabled: false });
  const prism = createServer(operations, { cors: false, components: { logger }, config });
  return { url: await prism.listen(0, '127.0.0.1'), stop: () => prism.close() };
}
