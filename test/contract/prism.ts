import { createLogger } from '@stoplight/prism-core';
import { getHttpOperationsFromSpec } from '@stoplight/prism-http';
import { createServer } from '@stoplight/prism-http-server';
import { join } from 'node:path';
import { afterFile } from '../support/harness';

const specification = join(__dirname, '..', '..', 'spec', 'openapi.yaml');

/** The document as parsed by Prism, which takes a second. */
const operations = getHttpOperationsFromSpec(specification);

/** Starts Prism as a mock, which responds with the document's examples. @returns its address */
export function startMock(): Promise<string> {
  return listen({
    isProxy: false,
    upstreamProxy: undefined,
    validateRequest: true,
    checkSecurity: true,
    validateResponse: true,
    errors: false,
    mock: { dynamic: false },
  });
}

/** Starts a Prism proxy that replaces responses that violate the document by a 500 with `sl-violations`. @returns its address */
export function startProxy(upstream: string): Promise<string> {
  return listen({
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

async function listen(config: Parameters<typeof createServer>[1]['config']): Promise<string> {
  const logger = createLogger('test', { enabled: false });
  const prism = createServer(await operations, { cors: false, components: { logger }, config });
  afterFile(() => prism.close());
  return prism.listen(0, '127.0.0.1');
}
