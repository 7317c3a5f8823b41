import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterFile, createTestFolder, project } from '../../support/harness';
import { closedPort } from '../../support/network';
import {
  administer,
  createEmptyDatabase,
  createTestDatabase,
  databaseUrl,
  shared,
} from '../../support/databases';
import { databaseProcesses, spawnService, usedDataDir } from '../../support/process';
import { testKey } from '../../support/service';

type Env = Record<string, string>;

async function busyPort(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterFile(() => void server.close());
  return String((server.address() as AddressInfo).port);
}

/** A database to which this user may connect, without the right to create anything. */
async function urlWithoutRights(): Promise<string> {
  const role = `test_${randomBytes(8).toString('hex')}`;
  await administer(`create role ${role} login`);
  afterFile(() => administer(`drop role ${role}`));
  return databaseUrl(await createEmptyDatabase(), role);
}

const migratedDatabase = async () => databaseUrl((await createTestDatabase()).address);
const on = async (database: Promise<string> | string): Promise<Env> => ({
  DATABASE_URL: await database,
  API_KEYS: testKey,
});
/** NODE_OPTIONS that delay the clean-up of a process until SIGTERM, which it sends to itself. */
function signalledInCleanup(): string {
  const file = join(createTestFolder(), 'signal.cjs');
  writeFileSync(
    file,
    `const cleanups = require(${JSON.stringify(join(project, 'dist/src/operation/process/cleanups.js'))});
     const { disposeOnce } = cleanups;
     cleanups.disposeOnce = (...given) => {
       const dispose = disposeOnce(...given);
       return async (deadline) => {
         const signalled = new Promise((resolve) => process.once('SIGTERM', resolve));
         process.kill(process.pid, 'SIGTERM');
         await signalled;
         return dispose(deadline);
       };
     };`,
  );
  return `--require=${file}`;
}

const closed = async (host: string) => `postgresql://user:secret@${host}:${await closedPort()}/catalog`;

describe('a wrong setting stops the start with one line that names it, and leaves no process', () => {
  it.concurrent.each<[string, string, () => Env | Promise<Env>]>([
    ['PORT', 'that is taken', async () => ({ DATA_DIR: await usedDataDir(), PORT: await busyPort() })],
    [
      'METRICS_PORT',
      'that is taken',
      async () => ({ ...(await on(migratedDatabase())), METRICS_PORT: await busyPort() }),
    ],
    [
      'METRICS_HOST',
      'that is not an address of this machine',
      async () => ({ ...(await on(migratedDatabase())), METRICS_PORT: '0', METRICS_HOST: '203.0.113.1' }),
    ],
    [
      'HOST',
      'that is not an address of this machine',
      async () => ({ ...(await on(migratedDatabase())), HOST: '203.0.113.1' }),
    ],
    ['DATABASE_URL', 'that refuses connections', () => on(closed('127.0.0.1'))],
    ['DATABASE_URL', 'that refuses connections on any address of the name', () => on(closed('localhost'))],
    [
      'DATABASE_URL',
      'of a host that does not exist',
      () => on('postgresql://user:secret@no-such-host.invalid/db'),
    ],
    [
      'DATABASE_URL',
      'of a database that does not exist',
      () => on(databaseUrl({ ...shared().address, database: 'nix' })),
    ],
    [
      'DATABASE_URL',
      'of a database that is not UTF-8',
      () => on(createEmptyDatabase('LATIN1').then((at) => databaseUrl(at))),
    ],
    ['DATABASE_URL', 'whose user may not create tables', () => on(urlWithoutRights())],
    [
      'S3_BUCKET',
      'that does not exist',
      async () => ({
        ...(await on(migratedDatabase())),
        S3_BUCKET: 'no-such-bucket',
        S3_ENDPOINT: shared().s3Endpoint,
      }),
    ],
    [
      'DATA_DIR',
      'that cannot be created',
      () => {
        const file = join(createTestFolder(), 'file');
        writeFileSync(file, '');
        return { DATA_DIR: join(file, 'data') };
      },
    ],
    ['DATA_DIR', 'where nothing can be created', () => ({ DATA_DIR: '/proc/data' })],
    [
      'OUTBOUND_PROXY',
      'that is no address of a proxy',
      () => ({ OUTBOUND_PROXY: 'socks5://user:secret@proxy.example.org:1080' }),
    ],
    ['API_PROCESSES', 'that has been removed', () => ({ API_PROCESSES: '1' })],
  ])('%s %s', async (name, _what, env) => {
    const service = spawnService({ env: await env() });

    const { code, stderr, stdout } = await service.exit;

    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^\S.*\n$/) as unknown });
    expect(stderr).toMatch(new RegExp(`^Wrong setting ${name}: .*\\w.*\\.\n$`));
    // A missing reason would show as empty brackets.
    expect(stderr).not.toContain('()');
    expect(stdout + stderr).not.toMatch(/secret|\bat .*:\d+:\d+/);
    expect(databaseProcesses(service.dataDir)).toEqual([]);
  });

  it.concurrent('also when SIGTERM arrives during the clean-up', async () => {
    const env = { DATA_DIR: await usedDataDir(), PORT: await busyPort(), NODE_OPTIONS: signalledInCleanup() };
    const service = spawnService({ env });

    const { code, stderr } = await service.exit;

    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^Wrong setting PORT: .*\n$/) as unknown,
    });
    expect(databaseProcesses(service.dataDir)).toEqual([]);
  });

  it.concurrent('several wrong settings at once get a line each', async () => {
    const { code, stderr } = await spawnService({ env: { PORT: 'abc', LOG_LEVEL: 'loud' } }).exit;

    expect(code).toBe(1);
    expect(stderr.split('\n').map((line) => line.split(':')[0])).toEqual([
      'Wrong setting PORT',
      'Wrong setting LOG_LEVEL',
      '',
    ]);
  });
});

it.concurrent('former settings are named in one warning', async () => {
  const former = { RATE_LIMIT_SECONDS: '5', MAX_CONCURRENT_DOWNLOADS: '0', SOURCE_PRIVATE_ADDRESSES: 'on' };
  const database = await on(migratedDatabase());
  const service = spawnService({
    env: { ...former, ...database, PORT: await busyPort(), LOG_LEVEL: 'warn' },
  });

  const { stdout } = await service.exit;

  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { settings?: object });
  expect(lines.filter(({ settings }) => settings)).toEqual([
    expect.objectContaining({
      level: 40,
      settings: expect.objectContaining({
        RATE_LIMIT_SECONDS: '`RATE_LIMIT_REQUESTS` counts per minute.',
      }) as unknown,
    }),
  ]);
});
