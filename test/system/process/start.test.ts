import { execFile } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { runAdmin } from '../../support/commands';
import { afterFile, createTestFolder } from '../../support/harness';
import {
  clusterOf,
  databaseProcesses,
  embeddedAddress,
  postmasters,
  type ServiceProcess,
  spawnService,
  startService,
  usedDataDir,
} from '../../support/process';

const csv = 'sku,product_name,price\nTENT-2,Two-person tent,189.90\n';
const isRoot = process.getuid?.() === 0;
const unprivileged = { uid: 65534, gid: 65534 };

/** Whether any user can access a file of the project: no parent folder is private. */
function isPublic(file: string): boolean {
  for (let path = resolve(file); path !== dirname(path); path = dirname(path)) {
    if ((statSync(path).mode & 0o005) !== 0o005 && path !== resolve(file)) return false;
  }
  return true;
}

describe('the first start without configuration', () => {
  let service: ServiceProcess;
  let folder: string;
  beforeAll(async () => {
    folder = createTestFolder();
    service = await startService({ cwd: folder });
  });

  it('prints address, key and data folder', () => {
    expect(service.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(service.key).toMatch(/^\S{32,}$/);
    expect(service.stdout).toContain(join(folder, '.data'));
  });

  it('prints three commands that work when they are pasted into a shell', async () => {
    const commands = service.stdout.split('\n').filter((line) => /^ +.*\bcurl /.test(line));
    expect(commands).toHaveLength(3);

    const { stdout } = await promisify(execFile)('sh', ['-c', commands.join('\n')]);

    const [job, answers] = stdout.split(/\n(.*)/s) as [string, string];
    expect(job).toMatch(/^JV\d{5}$/);
    expect(answers).toContain(`"job_id":"${job}"`);
    expect(answers).toContain('"status":"completed"');
    expect(answers).toContain('"sku":"TENT-2"');
  });

  it('accepts only its stored key', async () => {
    expect(readFileSync(join(folder, '.data', 'api-key'), 'utf8').trim()).toBe(service.key);
    expect((await service.api.get('/products')).status).toBe(200);
    expect((await service.api.withKey('another').get('/products')).status).toBe(401);
    expect((await service.api.withKey(undefined).get('/health')).body).toEqual({
      status: 'ok',
      database: 'connected',
    });
  });

  if (isRoot) {
    it('warns root with instructions', () => {
      expect(service.stdout).toMatch(/"level":40,.*"msg":"running as root: [^"]*an ordinary account/);
    });
  }

  it('keeps its PostgreSQL off the network', () => {
    const [server] = postmasters(service.dataDir);
    const pid = readFileSync(join(clusterOf(service.dataDir), 'postmaster.pid'), 'utf8').split('\n');

    expect(Number(pid[0])).toBe(server);
    // The port that it listens on, besides its socket.
    expect(pid[5]!.trim()).toBe('');
    expect(statSync(clusterOf(service.dataDir)).mode & 0o077).toBe(0);
  });

  it('is followed by a second start with its data and its key', async () => {
    const { jobId, feedId } = await service.api.loadFeed(csv, 'Started twice');
    const { key } = service;
    await service.stop();

    service = await startService({ cwd: folder });

    expect(service.key).toBe(key);
    const { body: catalog } = await service.api.get(`/products?feed_id=${feedId}`);
    expect(catalog).toMatchObject({ count: 1, items: [{ sku: 'TENT-2', price: 189.9 }] });
    // The raw file exists too.
    const { body: job } = await service.api.post(`/jobs/${jobId}/run`);
    expect(job.summary).toMatchObject({ processed: 1, unchanged: 1 });
    const next = await service.api.uploadFeed(csv);
    expect(Number(next.feedId.slice(2))).toBe(Number(feedId.slice(2)) + 1);
  });
});

describe('a data folder', () => {
  it.concurrent('may have a path of more than 120 characters', async () => {
    const dataDir = join(createTestFolder(), 'a folder with a long name'.padEnd(70, 'x'), 'y'.repeat(70));

    mkdirSync(dirname(dataDir), { recursive: true });
    await usedDataDir(dataDir);

    const service = await startService({ env: { DATA_DIR: dataDir } });

    // The socket cannot be there: its path would be too long for the operating system.
    const { host: socketFolder } = embeddedAddress(dataDir);
    afterFile(() => rmSync(socketFolder!, { recursive: true, force: true }));
    await service.api.loadFeed(csv);
    expect((await service.stop()).code).toBe(0);
    expect(databaseProcesses(dataDir)).toEqual([]);
  });

  it.concurrent('may have a name with any characters', async () => {
    const dataDir = join(createTestFolder(), `a, b\\c "d" 'e' $HOME \`f\``);
    await usedDataDir(dataDir);

    const service = await startService({ env: { DATA_DIR: dataDir } });

    const { host: socketFolder } = embeddedAddress(dataDir);
    afterFile(() => rmSync(socketFolder!, { recursive: true, force: true }));
    await service.api.loadFeed(csv);
    expect(await runAdmin({ DATA_DIR: dataDir }, 'keys', 'list')).toMatchObject({ code: 0 });
    expect((await service.stop()).code).toBe(0);
    expect(databaseProcesses(dataDir)).toEqual([]);
  });

  it.concurrent('whose database cannot start is refused with the reason of PostgreSQL', async () => {
    const dataDir = await usedDataDir();
    const wal = join(clusterOf(dataDir), 'pg_wal');
    for (const name of readdirSync(wal)) if (/^[0-9A-F]{24}$/.test(name)) rmSync(join(wal, name));

    const { code, stderr } = await spawnService({ env: { DATA_DIR: dataDir } }).exit;

    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^The service cannot start: PostgreSQL did not start: [^\n]*could not locate a valid checkpoint record[^\n]*\n$/,
    );
  });

  it.concurrent('of another major version of PostgreSQL is refused with the steps that move it', async () => {
    const dataDir = await usedDataDir();
    writeFileSync(join(clusterOf(dataDir), 'PG_VERSION'), '14\n');

    const { code, stderr } = await spawnService({ env: { DATA_DIR: dataDir } }).exit;

    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^The service cannot start: The data in \S+ are of PostgreSQL 14, and this version of the service brings \d\d\. [^\n]*database copy[^\n]*\n$/,
    );
  });

  const belowPrivateFolder = async () => {
    const folder = createTestFolder();
    chmodSync(folder, 0o700);
    const env = { DATA_DIR: join(folder, 'data') };

    const first = await startService({ env });
    await first.api.loadFeed(csv);
    await first.stop();
    const second = await startService({ env });

    expect((await second.api.get('/products')).body.count).toBe(1);
    expect(second.stdout).toContain(`\n  database ${clusterOf(env.DATA_DIR)} (`);
    expect(second.stdout).toContain(
      `"database":"${clusterOf(env.DATA_DIR)}","msg":"database is outside of DATA_DIR"`,
    );
    expect(postmasters(env.DATA_DIR)).toHaveLength(1);
    expect(existsSync(join(folder, 'data', 'api-key'))).toBe(true);
  };
  // Only root starts a server as another user.
  if (isRoot) it.concurrent('of root may be in a private folder', belowPrivateFolder);

  it.concurrent(
    'of two concurrent starts is served by one; the other is rejected with one line',
    async () => {
      const env = { DATA_DIR: join(createTestFolder(), 'data') };
      const both = [spawnService({ env }), spawnService({ env })];

      const started = await Promise.allSettled(both.map((service) => service.listens()));

      expect(started.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
      const winner = both.find((service) => service.isRunning)!;
      const loser = both.find((service) => service !== winner)!;
      const { code, stderr } = await loser.exit;
      expect(code).toBe(1);
      expect(stderr).toMatch(/^\S.*\n$/);
      expect(stderr).toContain(env.DATA_DIR);
      expect(postmasters(env.DATA_DIR)).toHaveLength(1);
      await winner.api.loadFeed(csv);
    },
  );
});

// Every other test covers ordinary users if the tests do not run as root.
if (isRoot && isPublic('dist/src/main.js') && isPublic('node_modules/.bin')) {
  describe('a service of an ordinary user', () => {
    it.concurrent('loads a feed, and stops, without a process of root', async () => {
      const folder = createTestFolder();
      chownSync(folder, unprivileged.uid, unprivileged.gid);

      const service = await startService({ account: unprivileged, env: { DATA_DIR: join(folder, 'data') } });

      await service.api.loadFeed(csv);
      expect((await service.api.get('/products')).body.count).toBe(1);
      expect(statSync(`/proc/${service.pid}`).uid).toBe(unprivileged.uid);
      expect(service.stdout).not.toContain('root');
      const [server] = postmasters(service.dataDir);
      expect(statSync(`/proc/${server}`).uid).toBe(unprivileged.uid);
      expect((await service.stop()).code).toBe(0);
      expect(databaseProcesses(service.dataDir)).toEqual([]);
    });
  });
}
