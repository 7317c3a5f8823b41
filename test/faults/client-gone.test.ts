import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { eventually } from '../support/harness';
import { findBroken } from '../support/service-invariants';
import { filePart, formBody, formType, partnerPart } from '../support/requests';
import { startTestService, testKey, type TestService } from '../support/service';
import { stored } from '../support/stored-uploads';

const csv = `sku,product_name,price\n${'TENT-2,Two-person tent,189.90\n'.repeat(3_000)}`;
const bodies = [
  formBody([partnerPart(), filePart(csv)]),
  formBody([filePart(csv), partnerPart()]),
  formBody([partnerPart(), filePart(csv.slice(0, 1_000))]),
];
const atOnce = 20;

let service: TestService;
beforeAll(async () => {
  service = await startTestService();
  await service.api.uploadFeed(csv);
});

const openFiles = () => readdirSync('/proc/self/fd').length;
/** Nothing waits for a disconnected client. */
const timers = () => process.getActiveResourcesInfo().filter((what) => what === 'Timeout').length;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Live heap after a collection, in megabytes; each retained request keeps an object there. */
function liveMegabytes(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed / 1e6;
}

/** Sends an upload up to a byte of its request, and disconnects. @returns when the connection is closed */
function sendPartOf(at: number): Promise<void> {
  const body = bodies[at % bodies.length]!;
  const head =
    `POST /feeds/upload HTTP/1.1\r\nHost: localhost\r\nx-api-key: ${testKey}\r\nContent-Type: ${formType}\r\n` +
    `Content-Length: ${body.length}\r\n\r\n`;
  const request = Buffer.concat([Buffer.from(head), body]);
  // Spread over the whole request, the first and the last bytes included; never the complete request.
  const bytes = Math.floor(((at * 7_919) % 1_000) * (request.length / 1_000));
  return new Promise((resolve) => {
    const { hostname, port } = new URL(service.url);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined).on('close', () => resolve());
    socket.resume();
    socket.write(request.subarray(0, bytes), () => {
      if (at % 2 === 0) socket.destroy();
      else socket.end();
    });
  });
}

async function goAway(times: number, from: number): Promise<void> {
  let next = from;
  const sendInTurn = async () => {
    while (next < from + times) await sendPartOf(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, sendInTurn));
}

it('a client that disconnects during its upload, at four hundred different bytes, leaves nothing', async () => {
  const before = await stored(service);
  const [quiet, quietTimers] = [openFiles(), timers()];
  await goAway(100, 0);
  await eventually('nothing is left', async () => expect(await stored(service)).toEqual(before));
  const megabytes = liveMegabytes();

  await goAway(300, 100);

  await eventually('nothing is left', async () => expect(await stored(service)).toEqual(before));
  // The pool has opened some connections.
  await eventually('files and connections are closed', () => openFiles() <= quiet + 12);
  expect(timers()).toBeLessThan(quietTimers + 20);
  await eventually('memory is what it was', () => liveMegabytes() < megabytes + 3);
  const { db, objectStore, api } = service;
  expect(await findBroken({ db, objectStore, apis: [api] })).toEqual([]);
  expect((await api.loadFeed(csv)).job.summary).toMatchObject({ processed: 3_000, inserted: 1 });
});
