import { createServer, type Server } from 'node:http';
import { securityHeaders } from '../../http/reply/common-headers';
import type { Log } from '../../base/log';
import type { Metrics } from './metrics';
import type { Readiness } from './readiness';

interface PageResponse {
  status: number;
  mediaType?: string;
  text: string;
}

/**
 * Creates the HTTP server for operators, not listening yet: `/metrics` for Prometheus, `/livez` and `/readyz` for orchestrators.
 * It requires no key, and is not part of the document.
 */
export function createOperatorServer(metrics: Pick<Metrics, 'text'>, readiness: Readiness, log: Log): Server {
  const pages = new Map<string | undefined, () => Promise<PageResponse>>([
    [
      '/metrics',
      async () => {
        const { mediaType, text } = await metrics.text();
        return { status: 200, mediaType, text };
      },
    ],
    // The response shows that the event loop is alive.
    ['/livez', () => Promise.resolve(json(200, { status: 'alive' }))],
    [
      '/readyz',
      () => {
        const report = readiness.report();
        return Promise.resolve(json(report.status === 'ready' ? 200 : 503, report));
      },
    ],
  ]);

  return createServer((request, response) => {
    const respond = async (): Promise<PageResponse> => {
      const page = pages.get(request.url?.split('?', 1)[0]);
      if (!page) return json(404, { detail: 'Not Found' });
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        response.setHeader('Allow', 'GET, HEAD');
        return json(405, { detail: 'Method Not Allowed' });
      }
      try {
        return await page();
      } catch (error) {
        log.error({ err: error, page: request.url }, 'failed to serve metrics or probe');
        return json(500, { detail: 'Internal server error' });
      }
    };
    void respond().then(({ status, mediaType = 'application/json', text }) => {
      const headers = {
        ...securityHeaders,
        'Content-Type': mediaType,
        'Content-Length': Buffer.byteLength(text),
      };
      response.writeHead(status, headers).end(text);
      request.resume();
    });
  });
}

function json(status: number, body: object): PageResponse {
  return { status, text: JSON.stringify(body) };
}
