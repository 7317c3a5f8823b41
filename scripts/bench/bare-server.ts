/** Comparison server of `node:http` and `pg` only: no keys, checks, logs or error handling. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openReader, readOrder, reportPort, toPage, toProduct } from './comparison';

const order = readOrder();
const read = openReader(order);
const productPath = '/products/PR';

async function answer(path: string): Promise<unknown> {
  if (!path.startsWith(productPath)) return toPage(await read.page(path));
  return toProduct(await read.product(Number(path.slice(productPath.length))));
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
