import { once } from 'node:events';
import { cpSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import express from 'express';
import { openPages } from '../../src/http/pages/pages';
import { setSecurityHeaders } from '../../src/http/reply/common-headers';
import { sendError } from '../../src/http/reply/error-handler';
import { Exchange, type Middleware } from '../../src/http/contract/exchange';
import { InFlight } from '../../src/http/contract/in-flight';
import { createLog } from '../../src/base/log';
import { expectSecurityHeaders } from '../support/contract';
import { startFakeDatabase } from '../support/databases';
import { afterFile, createTestFolder } from '../support/harness';
import { sendRaw } from '../support/requests';
import { startAppAt, testKey } from '../support/service';

describe('a page during shutdown', () => {
  it('closes its connection, also if the browser has it cached', async () => {
    const { app, url } = await startAppAt((await startFakeDatabase(() => undefined)).address);
    const { headers } = await sendRaw(url, { method: 'GET', path: '/docs' });
    await app.drain();

    for (const known of [{}, { 'if-none-match': headers.etag! }]) {
      const response = await sendRaw(url, { method: 'GET', path: '/docs', headers: known });

      expect(response.headers.connection).toBe('close');
    }
  });

  it('is not waited for if it waits behind another response, and the client disconnects', async () => {
    const { address } = await startFakeDatabase(() => undefined);
    const { app, url } = await startAppAt(address, { acquireMilliseconds: 500 });
    const { port, hostname } = new URL(url);
    const socket = connect(Number(port), hostname);
    const waiting = `GET /products HTTP/1.1\r\nhost: x\r\nx-api-key: ${testKey}\r\n\r\n`;
    socket.write(`${waiting}GET /docs HTTP/1.1\r\nhost: x\r\n\r\n`);
    await new Promise((resolve) => setTimeout(resolve, 100));
    socket.destroy();

    await app.drain();
  });
});

describe('a page whose file was deleted', () => {
  it('is an error without the headers of the file, and ends once', async () => {
    const folder = createTestFolder();
    cpSync(dirname(dirname(require.resolve('#pages/identity/openapi.yaml'))), folder, { recursive: true });
    const { serve } = openPages(folder);
    rmSync(join(folder, 'br/docs.html'));
    const inFlight = new InFlight();
    let ends = 0;
    const begin: Middleware = (request, response, next) => {
      const log = createLog('silent');
      const service = {
        openLog: () => log,
        isDraining: () => false,
        readAsPut: () => ({ errors: [] }),
        inFlight,
      };
      inFlight.enter();
      response.locals.exchange = new Exchange(request, response, 'id', service, () => ends++);
      setSecurityHeaders(response);
      next();
    };
    const app = express().use(begin, serve, sendError(false));
    const server = createServer(app).listen(0, '127.0.0.1');
    afterFile(() => void server.close());
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const get = (encoding: string) =>
      sendRaw(url, { method: 'GET', path: '/docs', headers: { 'accept-encoding': encoding } });

    const { status, headers, text } = await get('br');

    expect({ status, text }).toEqual({ status: 500, text: '{"detail":"Internal server error"}' });
    expectSecurityHeaders(new Headers(headers as Record<string, string>));
    for (const name of ['etag', 'content-encoding', 'vary']) expect(headers).not.toHaveProperty(name);
    expect((await get('gzip')).status).toBe(200);
    await inFlight.ended();
    expect(ends).toBe(2);
  });
});
