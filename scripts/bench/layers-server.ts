/**
 * The application of the service, cut off after each of its layers; each depth has a port of its own. Handlers reply with the
 * examples of the document, without a database. Sends the ports by layer to its parent, and logs as the service does.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import type { Document } from 'openapi-backend';
import document from '../../generated/openapi.json';
import { openPages } from '../../src/http/pages/pages';
import { createApplication } from '../../src/http/application';
import { makeReply, type Operations } from '../../src/http/contract/contract';
import type { Middleware } from '../../src/http/contract/exchange';
import { InFlight } from '../../src/http/contract/in-flight';
import {
  beginRequest,
  checkShape,
  findOperation,
  limitRateOfKey,
  readBody,
  requireCaller,
  requirePermission,
} from '../../src/http/middleware';
import { openOperations } from '../../src/http/contract/operations';
import { limitRate } from '../../src/http/rate-limit';
import { readerOfPuts } from '../../src/http/contract/read-as-put';
import { RequestLog } from '../../src/http/request-log';
import { createHttpServer } from '../../src/http/server';
import { authenticateConfigured } from '../../src/http/keys/authenticate';
import { createLog } from '../../src/base/log';
import { apiKey } from './servers';

const { paths, components } = document;
const page = paths['/products'].get.responses[200].content['application/json'].examples.page.value;
const order = components.examples.TwoItemOrder.value;
const replies = { listProducts: makeReply(200, page), createOrder: makeReply(201, order) };

async function main(): Promise<void> {
  const log = createLog('info');
  const operations = Object.fromEntries(
    Object.values(paths)
      .flatMap((methods) => Object.values(methods))
      .map(({ operationId }) => [
        operationId,
        { handle: () => Promise.resolve(replies[operationId as keyof typeof replies]) },
      ]),
  );
  const openApi = await openOperations(document as unknown as Document, operations as Operations, 1024);
  const options = {
    openApi,
    pages: openPages().serve,
    authenticate: authenticateConfigured([apiKey]),
    delayWrongKey: () => Promise.resolve(),
    countRequest: limitRate({ requests: 1e9 }),
    requestLog: new RequestLog(log, Object.keys(paths)),
    service: {
      openLog: () => log,
      isDraining: () => false,
      readAsPut: readerOfPuts(openApi),
      inFlight: new InFlight(),
    },
    verifyResponses: false,
  };
  const layers: Record<string, Middleware> = {
    'request id, log': beginRequest(options.requestLog, options.service),
    pages: options.pages,
    'route, by openapi-backend': findOperation(openApi),
    key: requireCaller(options.authenticate, options.delayWrongKey),
    'rate limit': limitRateOfKey(options.countRequest),
    body: readBody,
    'shape, by openapi-backend and Ajv': checkShape(openApi),
    permission: requirePermission,
  };
  const servers: Record<string, Server> = {
    'Node.js': createServer(answer),
    'Express, HTTP server of the service': createHttpServer(cutOff([])),
  };
  const upTo: Middleware[] = [];
  for (const [name, layer] of Object.entries(layers)) {
    upTo.push(layer);
    servers[name] = createHttpServer(cutOff(upTo));
  }
  servers['call, by openapi-backend, and reply'] = createHttpServer(createApplication(options));
  const ports: Record<string, number> = {};
  for (const [name, server] of Object.entries(servers)) {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    ports[name] = (server.address() as AddressInfo).port;
  }
  process.send!(ports);
}

function cutOff(layers: Middleware[]): express.Express {
  const app = express();
  app.disable('x-powered-by').disable('etag').disable('query parser');
  for (const layer of layers) app.use(layer);
  app.use((request, response) => answer(request, response));
  return app;
}

/** Sends the response of the service, and ends the request for its log. */
function answer(
  request: IncomingMessage,
  response: ServerResponse & { locals?: { exchange?: { end: (how: object) => void } } },
): void {
  const { status, body } = request.method === 'GET' ? replies.listProducts : replies.createOrder;
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
  });
  response.end(text);
  response.locals?.exchange?.end({ status });
  request.resume();
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
