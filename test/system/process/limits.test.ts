import { writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { join, resolve } from 'node:path';
import { afterFile, eventually, createTestFolder } from '../../support/harness';
import { createTestDatabase, databaseUrl } from '../../support/databases';
import { startService } from '../../support/process';
import { sendRaw } from '../../support/requests';
import { testKey } from '../../support/service';

/** Reduced limits of the process: constants by module. */
const turnedDown = {
  'http/body/slow-client': { requestIdleMilliseconds: 500 },
  'http/server': { responseIdleMillisecondsMax: 500 },
  'runs/execution/rejects': { concurrentRejectsMax: 2 },
};
/** Rows that are few and long: quick to read, and more than the buffers between two sockets. */
const rows = 24;
const csv = 'sku,product_name,price,description\n' + `A,A,NA,${'x'.repeat(500_000)}\n`.repeat(rows);

/** NODE_OPTIONS that reduce the limits of a process. */
function turnDown(): string {
  const file = join(createTestFolder(), 'limits.cjs');
  const changes = Object.entries(turnedDown).map(([module, constants]) => {
    const built = resolve(__dirname, `../../../dist/src/${module}.js`);
    return `Object.assign(require(${JSON.stringify(built)}), ${JSON.stringify(constants)});`;
  });
  writeFileSync(file, changes.join('\n'));
  return `--require=${file}`;
}

async function ownEnvironment() {
  const { address } = await createTestDatabase();
  return {
    DATABASE_URL: databaseUrl(address),
    API_KEYS: testKey,
    DATA_DIR: join(createTestFolder(), 'data'),
  };
}

describe('clients that do not read their rejects', () => {
  it('wait for a slot, which each loses by its timeout; then another client gets all of its rejects', async () => {
    const env = await ownEnvironment();
    // An upload must not be aborted.
    const patient = await startService({ env });
    const { jobId, job } = await patient.api.loadFeed(csv);
    expect(job.summary.skipped).toBe(rows);
    await patient.stop();
    const { api, url, key } = await startService({ env: { ...env, NODE_OPTIONS: turnDown() } });
    const begun: IncomingMessage[] = [];
    const clients = Array.from({ length: 8 }, () =>
      request(`${url}/jobs/${jobId}/rejects.csv`, { agent: false, headers: { 'x-api-key': key } })
        .on('response', (response) => begun.push(response.on('error', () => undefined)))
        .on('error', () => undefined)
        .end(),
    );
    afterFile(() => clients.forEach((client) => client.destroy()));

    const { status, body } = await api.get(`/jobs/${jobId}/rejects.csv`);

    expect(status).toBe(200);
    expect(body.length).toBeGreaterThan(csv.length);
    await eventually('each of the others had its slot', () => begun.length === clients.length, 60);
    expect(begun.map(({ statusCode }) => statusCode)).toEqual(clients.map(() => 200));
  });
});

describe('a process', () => {
  it('has the limits of its settings', async () => {
    const limits = { RATE_LIMIT_REQUESTS: '2', MAX_CONNECTIONS: '10' };
    const { api, url, key } = await startService({ env: { ...(await ownEnvironment()), ...limits } });
    const { port, hostname } = new URL(url!);
    const open = () => connect(Number(port), hostname).on('error', () => undefined);
    const sockets = Array.from({ length: 10 }, open);
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    const beyond = open().resume();
    await new Promise((resolve) => beyond.once('close', resolve));
    for (const socket of sockets) socket.destroy();
    await eventually('there is room', () =>
      api.get('/health').then(
        () => true,
        () => false,
      ),
    );
    const ask = () => sendRaw(url!, { method: 'GET', path: '/orders', headers: { 'x-api-key': key } });

    const answers = [await ask(), await ask(), await ask()];

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
    expect(answers[2]!.headers['retry-after']).toMatch(/^([1-9]|[1-5]\d|60)$/);
  });
});
