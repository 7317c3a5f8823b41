import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { createServer, connect, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { thisBuild } from '../../../scripts/service-process';
import { afterFile, eventually, createTestFolder, project } from '../../support/harness';
import { createEmptyDatabase, databaseUrl } from '../../support/databases';
import { HeldProducts } from '../../support/held-runs';
import {
  databaseProcesses,
  embeddedAddress,
  spawnService,
  startUsedService,
  type ServiceProcess,
} from '../../support/process';
import { sendRaw } from '../../support/requests';
import { samples } from '../../support/samples';
import { testKey } from '../../support/service';

const csv = 'sku,product_name,price\nTENT-2,Two-person tent,189.90\n';
const two = { API_PROCESSES: '2' };

/** What processes can do before they start, `barrier` being the path of what they do. */
const barriers = {
  end: 'process.exit(7);',
  endFirst: `try { require('fs').unlinkSync(barrier); } catch { return; } process.exit(7);`,
  endSecond: `if (require('cluster').worker.id === 2) process.exit(7);`,
  holdSecond: `const look = new Int32Array(new SharedArrayBuffer(4));
    while (require('cluster').worker.id === 2 && require('fs').existsSync(barrier)) Atomics.wait(look, 0, 0, 10);`,
};

/** Changed constants by module. */
type Constants = Record<string, Record<string, number>>;

/**
 * Settings by which each process that answers requests does what is in the file `barrier` before it starts, as long as
 * there is one.
 * @param changed - constants of all processes that are other than usual
 */
function barred(changed: Constants = {}): { barrier: string; env: Record<string, string> } {
  const folder = createTestFolder();
  const [barrier, hook] = [join(folder, 'barrier'), join(folder, 'hook.cjs')];
  const path = JSON.stringify(barrier);
  const changes = Object.entries(changed).map(([module, constants]) => {
    const built = JSON.stringify(join(project, `dist/src/${module}.js`));
    return `Object.assign(require(${built}), ${JSON.stringify(constants)});`;
  });
  writeFileSync(
    hook,
    `let code = '';
     try { if (process.env.API_PROCESS_DATABASE) code = require('fs').readFileSync(${path}, 'utf8'); } catch {}
     new Function('require', 'barrier', code)(require, ${path});
     ${changes.join('\n')}`,
  );
  return { barrier, env: { NODE_OPTIONS: `--require=${hook}`, ...two } };
}

/**
 * A service of two processes on a database of its own, that of the tests.
 * @param atStart - what is in `barrier` from the start; else there is none
 */
async function spawnTwo(
  settings: Record<string, string> = {},
  changed: Constants = {},
  atStart?: string,
): Promise<{ service: ServiceProcess; barrier: string }> {
  const { barrier, env } = barred(changed);
  if (atStart !== undefined) writeFileSync(barrier, atStart);
  const database = { DATABASE_URL: databaseUrl(await createEmptyDatabase()), API_KEYS: testKey };
  return { service: spawnService({ env: { ...database, ...env, ...settings } }), barrier };
}

async function startTwo(...given: Parameters<typeof spawnTwo>) {
  const started = await spawnTwo(...given);
  await started.service.listens();
  await bothListen(started.service);
  return started;
}

/** @returns the numbers of the first two */
async function bothListen(service: ServiceProcess): Promise<number[]> {
  await eventually('both processes listen', () => service.apiProcesses.length === 2, 60);
  return service.apiProcesses;
}

function isAlive(pid: number): boolean {
  // A zombie is dead too.
  return (
    existsSync(`/proc/${pid}/stat`) && !/^\d+ \(.*\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  );
}

const allHaveEnded = (pids: number[]) =>
  eventually('its processes have ended', () => !pids.some((pid) => isAlive(pid)));

const ask = ({ url, key }: ServiceProcess, path = '/orders') =>
  sendRaw(url!, { method: 'GET', path, headers: { 'x-api-key': key } });

/** The process that has answered, by the log. */
async function answeredBy(service: ServiceProcess): Promise<number> {
  const { status, headers } = await ask(service);
  expect(status).toBe(200);
  const line = new RegExp(`"pid":(\\d+),"request_id":"${String(headers['x-request-id'])}"`);
  return eventually('the request is logged', () => Number(line.exec(service.stdout)?.[1]) || false);
}

describe('API_PROCESSES', () => {
  let service: ServiceProcess;
  beforeAll(async () => {
    service = await startUsedService({ ...two, METRICS_PORT: '0', RATE_LIMIT_REQUESTS: '100000' });
  });

  it('serves one port with several processes in turns, with the flags of the primary', async () => {
    const pids = await bothListen(service);

    const answered = new Set<number>();
    for (let n = 0; n < 6; n++) answered.add(await answeredBy(service));

    expect([...answered].sort()).toEqual([...pids].sort());
    expect(answered).not.toContain(service.pid);
    for (const pid of pids) {
      expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')).toEqual(
        expect.arrayContaining(thisBuild.nodeFlags),
      );
    }
  });

  it('creates an order with an Idempotency-Key once, on whichever process', async () => {
    await service.api.loadFeed(csv);
    const body = JSON.stringify({
      partner_name: 'Acme Outdoor',
      items: [{ product_id: 'PR00001', quantity: 1 }],
    });
    const headers = {
      'x-api-key': service.key,
      'content-type': 'application/json',
      'idempotency-key': 'fifty at once',
    };

    const answers = await Promise.all(
      Array.from({ length: 50 }, () =>
        sendRaw(service.url!, { method: 'POST', path: '/orders', headers, chunks: [body] }),
      ),
    );

    const created = answers.filter(({ status }) => status === 201);
    expect(answers.filter(({ status }) => status !== 201 && status !== 409)).toEqual([]);
    expect(new Set(created.map(({ text }) => text)).size).toBe(1);
    expect((await service.api.get('/orders')).body.count).toBe(1);
  });

  it('aggregates metrics without a decrease when a process dies, and replaces that process', async () => {
    const count = async () => {
      const counts = await samples(service.operatorUrl!, 'http_request_duration_seconds_count');
      return counts['operation="listProducts",status="200",outcome="ok"'];
    };
    for (let n = 0; n < 10; n++) expect((await ask(service, '/products')).status).toBe(200);
    await eventually('all are counted', async () => (await count()) === 10);
    const pids = [...service.apiProcesses];

    process.kill(pids[0]!, 'SIGKILL');
    await allHaveEnded([pids[0]!]);

    expect(await count()).toBe(10);
    expect((await fetch(`${service.operatorUrl!}/readyz`)).status).toBe(200);
    expect(await answeredBy(service)).toBe(pids[1]);
    await eventually('another listens', () => service.apiProcesses.length === 3);
    const answered = new Set<number>();
    for (let n = 0; n < 6; n++) answered.add(await answeredBy(service));
    expect(answered).toEqual(new Set([pids[1], service.apiProcesses[2]]));
    for (let n = 0; n < 10; n++) await ask(service, '/products');
    await eventually('those of the new one are added', async () => (await count()) === 20);
    expect(service.stdout).toMatch(
      new RegExp(`"api_process":${pids[0]},"code":null,"signal":"SIGKILL","msg":"API process ended"`),
    );
  });
});

describe('several processes', () => {
  it.concurrent('share a rate limit', async () => {
    const { service } = await startTwo({ RATE_LIMIT_REQUESTS: '5', RATE_LIMIT_SECONDS: '1000' });

    const answers = [];
    for (let n = 0; n < 7; n++) answers.push(await ask(service));

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 429, 429]);
    expect(Number(answers[6]!.headers['retry-after'])).toBeGreaterThan(900);
  });

  it.concurrent('respond 503 when the primary process, which counts requests, is frozen', async () => {
    const { service } = await startTwo(
      { RATE_LIMIT_REQUESTS: '5' },
      { 'http/rate-limit': { rateLimitMilliseconds: 1_000 } },
    );
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    afterFile(() => agent.destroy());
    const request = { method: 'GET', path: '/orders', headers: { 'x-api-key': testKey }, agent };
    expect((await sendRaw(service.url!, request)).status).toBe(200);

    service.kill('SIGSTOP');

    try {
      const { status, headers, text } = await sendRaw(service.url!, request);
      expect([status, JSON.parse(text)]).toEqual([503, { detail: 'Service temporarily unavailable' }]);
      expect(headers).toHaveProperty('retry-after');
    } finally {
      service.kill('SIGCONT');
    }
  });

  it.concurrent('close connections beyond MAX_CONNECTIONS in each, and accept others later', async () => {
    const { service } = await startTwo({ MAX_CONNECTIONS: '3' });
    const { port, hostname } = new URL(service.url!);
    const open = new Set<Socket>();
    afterFile(() => open.forEach((socket) => socket.destroy()));
    const openAnother = () => {
      const socket = connect(Number(port), hostname);
      open.add(socket);
      return socket
        .resume()
        .on('error', () => undefined)
        .on('close', () => open.delete(socket));
    };

    // A busy process gets fewer connections than the other, so that it takes some attempts until both are full.
    await eventually('six stay open, and another is closed', async () => {
      const another = openAnother();
      await once(another, 'close', { signal: AbortSignal.timeout(1_000) }).catch(() => undefined);
      return !open.has(another) && open.size === 6;
    });

    for (const socket of open) socket.destroy();
    await eventually('there is room', () =>
      ask(service).then(
        ({ status }) => status === 200,
        () => false,
      ),
    );
  });

  it.concurrent.each<[string, (service: ServiceProcess) => void]>([
    ['SIGTERM', (service) => service.kill('SIGTERM')],
    [
      'Ctrl-C in a terminal, which reaches all of them',
      (service) => {
        service.killGroup('SIGINT');
        service.killGroup('SIGINT');
      },
    ],
  ])(
    'end on %s after the run in progress, before their PostgreSQL, with exit code 0',
    async (_what, kill) => {
      const service = await startUsedService(two);
      const pids = await bothListen(service);
      const feed = await service.api.uploadFeed(csv);
      const held = await HeldProducts.of(embeddedAddress(service.dataDir));
      const { answer } = await held.run(service.api, feed);

      kill(service);
      await eventually('the other one has ended', () => pids.filter(isAlive).length === 1);
      await held.release();

      expect((await answer)?.body).toMatchObject({ status: 'completed', summary: { inserted: 1 } });
      expect(await service.exit).toMatchObject({ code: 0, signal: null, stderr: '' });
      expect(pids.filter(isAlive)).toEqual([]);
      expect(databaseProcesses(service.dataDir)).toEqual([]);
      expect(service.stdout).not.toContain('has ended');
    },
  );

  it.concurrent('end on SIGTERM while they start', async () => {
    const { service, barrier } = await spawnTwo({}, {}, barriers.holdSecond);
    await eventually('the first one listens', () => service.apiProcesses.length > 0, 60);

    service.kill('SIGTERM');
    await eventually('it stops', () => service.stdout.includes('"msg":"stopping"'), 60);
    rmSync(barrier);

    expect(await service.exit).toMatchObject({ code: 0, stderr: '' });
    await allHaveEnded(service.apiProcesses);
  });

  it.concurrent('are killed when they do not stop', async () => {
    const { service } = await startTwo(
      { SHUTDOWN_SECONDS: '0' },
      { 'shared/shutdown': { promisedStopMilliseconds: 5_000, databaseForcedStopMilliseconds: 4_000 } },
    );
    process.kill(service.apiProcesses[0]!, 'SIGSTOP');

    const { code } = await service.stop('SIGTERM');

    expect(code).toBe(0);
    expect(service.apiProcesses.filter(isAlive)).toEqual([]);
  });

  it.concurrent('end when the primary process is killed', async () => {
    const { service } = await startTwo();

    await service.stop('SIGKILL');

    await allHaveEnded(service.apiProcesses);
  });

  it.concurrent('do not start on a port that is taken', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    afterFile(() => void taken.close());
    const port = String((taken.address() as AddressInfo).port);
    const { service } = await spawnTwo({ PORT: port });

    const { code, stderr } = await service.exit;

    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^Wrong setting PORT: cannot listen on .*EADDRINUSE.*\n$/) as unknown,
    });
  });
});

describe('a service that cannot start all of its processes', () => {
  it.concurrent('ends the started ones and does not replace them', async () => {
    const { service } = await spawnTwo({}, {}, barriers.endSecond);

    const { code, stderr, stdout } = await service.exit;

    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'The service cannot start: An API process has ended (exit code 7) before it listened.\n',
    });
    expect(service.apiProcesses).toHaveLength(1);
    expect(stdout).not.toContain('"msg":"API process ended"');
    await allHaveEnded(service.apiProcesses);
  });
});

describe('a replacement of a dead process that cannot start', () => {
  it.concurrent('is retried while others serve requests', async () => {
    const { service, barrier } = await startTwo();
    const [first, second] = service.apiProcesses;
    writeFileSync(barrier, barriers.end);

    process.kill(first!, 'SIGKILL');
    await eventually('it was tried', () => service.stdout.includes('failed to start API process'));
    expect(await answeredBy(service)).toBe(second);
    rmSync(barrier);

    await eventually('another listens', () => service.apiProcesses.length === 3, 60);
  });

  it.concurrent('ends the service when no other process is left', async () => {
    const { service, barrier } = await startTwo();
    writeFileSync(barrier, barriers.end);

    for (const pid of service.apiProcesses) process.kill(pid, 'SIGKILL');

    const { code, stdout, stderr } = await service.exit;
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'Fatal error: An API process has ended (exit code 7) before it listened.\n',
    });
    expect(stdout).toMatch(/"level":"?(fatal|60)"?,.*"msg":"fatal error, shutting down"/);
  });

  it.concurrent('ends the service and its PostgreSQL with the reason, also after a signal', async () => {
    const { barrier, env } = barred();
    const service = await startUsedService(env);
    const pids = await bothListen(service);
    writeFileSync(barrier, barriers.end);
    for (const pid of pids) process.kill(pid, 'SIGKILL');
    await eventually('it ends', () => service.stdout.includes('"msg":"fatal error, shutting down"'), 60);

    const { code, stderr } = await service.stop('SIGTERM');

    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^Fatal error: /),
    });
    expect(databaseProcesses(service.dataDir)).toEqual([]);
  });

  it.concurrent('does not end the service while another replacement is pending', async () => {
    const { service, barrier } = await startTwo();
    writeFileSync(barrier, barriers.endFirst);

    for (const pid of service.apiProcesses) process.kill(pid, 'SIGKILL');

    await eventually('two others listen', () => service.apiProcesses.length === 4, 60);
    expect(service.stdout).toContain('failed to start API process');
    expect(service.isRunning).toBe(true);
  });
});
