/** Comparison server of `node:http` and `pg` only: no keys, checks, logs or error handling. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parse } from 'node:querystring';
import { numberOf, openPool, openReader, readOrder, reportPort, toPage, toProduct } from './comparison';

const order = readOrder();
const read = openReader(order, openPool(order));
const productPath = '/products/';

async function answer(url: string): Promise<unknown> {
  if (url.startsWith(productPath))
    return toProduct(await read.product(numberOf(url.slice(productPath.length))));
  return toPage(await read.page({ ...parse(url.split('?')[1] ?? '') }));
}

const server = createServer((request, response) => {
  void answer(request.url!).then((body) => {
    const text = JSON.stringify(body);
    response.writeHead(200, {
      ...order.headers,
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(text),
    });
    response.end(text);
  });
});
server.listen(0, '127.0.0.1', () => reportPort((server.address() as AddressInfo).port));
