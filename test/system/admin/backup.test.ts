import {
  appendFileSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  watch,
} from 'node:fs';
import { join } from 'node:path';
import { openDatabase } from '../../../src/base/db/database';
import { runAdmin, startAdmin } from '../../support/commands';
import { afterFile, createTestFolder, eventually } from '../../support/harness';
import { S3Front } from '../../support/s3';
import {
  clusterOf,
  copyFolder,
  databaseProcesses,
  embeddedAddress,
  removeDatabaseServer,
  spawnService,
  startService,
  startUsedService,
  usedDataDir,
  type ServiceProcess,
} from '../../support/process';

const numberOf = (id: string) => Number(id.slice(2));

const csvOf = (...skus: string[]) => `sku,product_name\n${skus.map((sku) => `${sku},Tent\n`).join('')}`;

const backUp = (dataDir: string, to: string) => runAdmin({ DATA_DIR: dataDir }, 'backup', to);

/** As root, gives a folder to an ordinary account, whose data root may copy and restore. */
function give(folder: string): void {
  if (process.getuid?.() !== 0) return;
  for (const path of ['', ...readdirSync(folder, { recursive: true, encoding: 'utf8' })])
    chownSync(join(folder, path), 65534, 65534);
}

/** Restores a backup into a new data folder. @returns the folder */
async function restore(from: string): Promise<string> {
  const dataDir = join(createTestFolder(), 'restored');
  afterFile(() => removeDatabaseServer(dataDir));
  expect(await runAdmin({ DATA_DIR: dataDir }, 'restore', from)).toMatchObject({ code: 0, stderr: '' });
  expect(databaseProcesses(dataDir)).toEqual([]);
  return dataDir;
}

/** Loads feeds until it is stopped. @returns the number of loaded feeds */
async function keepLoading({ api }: ServiceProcess, isOver: () => boolean): Promise<number> {
  let loaded = 0;
  for (; !isOver(); loaded++) await api.loadFeed(csvOf(`LOAD-${loaded}`, `MORE-${loaded}`));
  return loaded;
}

/** Checks that the service has each product and the raw file of each loaded feed. */
async function checkFeeds({ api }: ServiceProcess): Promise<number> {
  // A run in progress during the backup is repeated.
  await eventually('the queue is empty', async () => {
    const { waiting, running } = (await api.get('/queue')).body as { waiting: number; running: number };
    return waiting + running === 0;
  });
  const feeds: { feed_id: string; status: string }[] = [];
  for (let cursor = ''; ;) {
    const { body } = await api.get(`/feeds?limit=100${cursor && `&cursor=${cursor}`}`);
    feeds.push(...body.items);
    if (!body.next_cursor) break;
    cursor = body.next_cursor;
  }
  for (const { feed_id } of feeds) {
    const raw = await api.get(`/feeds/${feed_id}/raw`);
    expect([feed_id, raw.status]).toEqual([feed_id, 200]);
  }
  const loaded = feeds.filter(({ status }) => status === 'processed').length;
  expect((await api.get('/partners/Acme%20Outdoor')).body).toMatchObject({ products: 2 * loaded });
  return feeds.length;
}

describe('a backup of the data folder', () => {
  let service: ServiceProcess;
  /** A backup made while feeds are loaded. */
  let backup: string;
  let made: Awaited<ReturnType<typeof backUp>>;
  beforeAll(async () => {
    service = await startUsedService();
    await service.api.loadFeed(csvOf('TENT-1', 'TENT-2'));
    backup = join(createTestFolder(), 'backups', 'first');
    let isOver = false;
    const loading = keepLoading(service, () => isOver);
    made = await backUp(service.dataDir, backup);
    isOver = true;
    expect(await loading).toBeGreaterThan(0);
  });

  /** Makes another process hold the lease of a prune or backup until this time. */
  async function lease(until: Date): Promise<void> {
    const db = openDatabase(embeddedAddress(service.dataDir), { applicationName: 'test', connectionsMax: 1 });
    await db('retention').update({ leased_until: until });
    await db.destroy();
  }

  it('made while feeds are loaded is restored into a new folder', async () => {
    expect(made).toMatchObject({ code: 0, stderr: '' });
    expect(made.stdout).toMatch(/^Backup complete: \S+ \(\d+ files, \d+ bytes\)\.\n$/);
    expect(statSync(backup).mode & 0o077).toBe(0);
    const restored = await startService({ env: { DATA_DIR: await restore(backup) } });

    expect(restored.key).toBe(service.key);
    expect(await checkFeeds(restored)).toBeGreaterThan(0);
    expect(await checkFeeds(service)).toBeGreaterThan(1);
    // From here on, its data differ. The original has assigned numbers since.
    const [last, next] = [
      await service.api.loadFeed(csvOf('LAST-1', 'LAST-2')),
      await restored.api.loadFeed(csvOf('ONLY-1', 'ONLY-2')),
    ];
    expect(numberOf(next.feedId)).toBeGreaterThan(numberOf(last.feedId));
    expect(numberOf(next.jobId)).toBeGreaterThan(numberOf(last.jobId));
    await checkFeeds(restored);
  });

  it('restored has its own raw files, and no longer the bucket of the original', async () => {
    const front = await S3Front.open();
    const onBucket = { ...front.env, AWS_ACCESS_KEY_ID: 'S3RVER', AWS_SECRET_ACCESS_KEY: 'S3RVER' };
    const clean = (env: Record<string, string>, ...args: string[]) =>
      runAdmin(env, 'objects', 'clean', ...args);
    expect(await clean({ DATA_DIR: service.dataDir, ...onBucket }, '--adopt')).toMatchObject({ code: 0 });
    const to = join(createTestFolder(), 'adopted');
    expect(await backUp(service.dataDir, to)).toMatchObject({ code: 0, stderr: '' });

    const dataDir = await restore(to);

    // Only a dry run: the restored database has the lease that the backup held.
    expect(await clean({ DATA_DIR: dataDir }, '--dry-run')).toMatchObject({ code: 0, stderr: '' });
    expect(await clean({ DATA_DIR: dataDir, ...onBucket })).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining(`The bucket ${front.bucket} belongs to another database`),
    });
    expect(await clean({ DATA_DIR: service.dataDir, ...onBucket })).toMatchObject({ code: 0, stderr: '' });
    expect(await clean({ DATA_DIR: service.dataDir })).toMatchObject({ code: 0, stderr: '' });
  });

  it('is made while the service is stopped, and restored into an existing folder, each for the account of the data', async () => {
    const stopped = await startUsedService();
    const { jobId } = await stopped.api.loadFeed(csvOf('TENT-1', 'TENT-2'));
    await stopped.stop();
    give(stopped.dataDir);
    const to = join(createTestFolder(), 'cold');

    expect(await backUp(stopped.dataDir, to)).toMatchObject({ code: 0, stderr: '' });
    expect(databaseProcesses(stopped.dataDir)).toEqual([]);
    // Like the root of a mounted volume, whose parent cannot be written.
    const parent = createTestFolder();
    const dataDir = join(parent, 'volume');
    mkdirSync(join(dataDir, 'lost+found'), { recursive: true });
    give(dataDir);
    const written = new Set<string>();
    const watcher = watch(parent, { persistent: false }, (_event, name) => written.add(String(name)));
    expect(await runAdmin({ DATA_DIR: dataDir }, 'restore', to)).toMatchObject({ code: 0, stderr: '' });
    watcher.close();
    expect([...written].filter((name) => name !== 'volume')).toEqual([]);
    const owners = [to, dataDir].flatMap((path) =>
      ['', 'api-key', 'objects', 'postgres', join('postgres', 'PG_VERSION')].map(
        (name) => statSync(join(path, name)).uid,
      ),
    );
    expect(new Set(owners)).toEqual(new Set([statSync(stopped.dataDir).uid]));
    const restored = await startService({ env: { DATA_DIR: dataDir } });

    const { body } = await restored.api.post(`/jobs/${jobId}/run`);
    expect(body.summary).toMatchObject({ processed: 2, unchanged: 2 });
  });

  it('ends with Ctrl-C, and leaves neither a server nor files', async () => {
    const dataDir = await usedDataDir();
    const folder = createTestFolder();

    const command = startAdmin({ DATA_DIR: dataDir }, 'backup', join(folder, 'to'));
    let stderr = '';
    command.stderr!.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    const ended = new Promise((resolve) => command.once('close', resolve));
    await eventually('PostgreSQL runs', () => databaseProcesses(dataDir).length > 0);
    command.kill('SIGINT');

    expect(await ended).toBe(130);
    expect(stderr).toBe('Interrupted.\n');
    expect(databaseProcesses(dataDir)).toEqual([]);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('whose restore ends with Ctrl-C leaves neither a server nor files', async () => {
    const parent = createTestFolder();
    const dataDir = join(parent, 'data');

    const command = startAdmin({ DATA_DIR: dataDir }, 'restore', backup);
    const ended = new Promise((resolve) => command.once('close', resolve));
    await eventually('it copies files', () => existsSync(join(dataDir, '.restoring')));
    command.kill('SIGINT');

    expect(await ended).toBe(130);
    expect(readdirSync(parent)).toEqual([]);
  });

  it('is made beside a service that is starting', async () => {
    const dataDir = await usedDataDir();
    const to = join(createTestFolder(), 'beside');

    const starting = spawnService({ env: { DATA_DIR: dataDir } });
    await eventually('PostgreSQL starts', () => databaseProcesses(dataDir).length > 0);
    const copied = await backUp(dataDir, to);
    await starting.listens();

    expect(copied).toMatchObject({ code: 0, stderr: '' });
    expect((await starting.api.get('/health')).status).toBe(200);
  });

  it('that was killed is rejected, and the next one names the folder to delete', async () => {
    const folder = createTestFolder();
    const to = join(folder, 'killed');

    const killed = startAdmin({ DATA_DIR: service.dataDir }, 'backup', to);
    const ended = new Promise((resolve) => killed.once('close', resolve));
    await eventually('it copies files', () => existsSync(join(`${to}.unfinished`, 'postgres', 'base')));
    killed.kill('SIGKILL');
    await ended;

    expect(readdirSync(folder)).toEqual(['killed.unfinished']);
    const dataDir = join(createTestFolder(), 'data');
    expect(await runAdmin({ DATA_DIR: dataDir }, 'restore', `${to}.unfinished`)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^FROM is not a complete backup: there is no \S+backup\.json\. .*\n$/),
    });
    expect(existsSync(dataDir)).toBe(false);
    expect(await backUp(service.dataDir, to)).toMatchObject({
      code: 1,
      stderr: `Another backup writes ${to}.unfinished, or was interrupted: then delete it.\n`,
    });
    rmSync(`${to}.unfinished`, { recursive: true });
    // The killed process holds the lease for up to a minute.
    await lease(new Date(0));
    expect(await backUp(service.dataDir, to)).toMatchObject({ code: 0, stderr: '' });
  });

  it('is rejected if a folder of the data is a link, which would be left out', async () => {
    const dataDir = await usedDataDir();
    const elsewhere = join(createTestFolder(), 'objects');
    renameSync(join(dataDir, 'objects'), elsewhere);
    symlinkSync(elsewhere, join(dataDir, 'objects'));
    const folder = createTestFolder();

    const { code, stderr } = await backUp(dataDir, join(folder, 'to'));

    expect(code).toBe(1);
    expect(stderr).toMatch(/^\S+objects is a link, which is not copied: [^\n]*\n$/);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is rejected during a prune, and leaves nothing behind', async () => {
    await lease(new Date('2099-01-01'));
    const folder = createTestFolder();

    const refused = await backUp(service.dataDir, join(folder, 'to'));
    await lease(new Date(0));

    expect(refused).toEqual({
      code: 1,
      stdout: '',
      stderr: 'Another process is pruning now: try again in a minute.\n',
    });
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is not restored if a file is missing or longer', async () => {
    const damaged = join(createTestFolder(), 'damaged');
    await copyFolder(backup, damaged);
    const refused = {
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^FROM is damaged: it has \d+ files with \d+ bytes instead of .*\n$/),
    };
    const parent = createTestFolder();
    const restoreIt = () => runAdmin({ DATA_DIR: join(parent, 'data') }, 'restore', damaged);

    appendFileSync(join(damaged, 'postgres', 'PG_VERSION'), '\n');
    expect(await restoreIt()).toEqual(refused);
    rmSync(join(damaged, 'postgres', 'PG_VERSION'));
    expect(await restoreIt()).toEqual(refused);
    expect(readdirSync(parent)).toEqual([]);
  });

  it('is neither written into a folder in use, nor restored into one', async () => {
    const fails = (stderr: string) => ({ code: 1, stdout: '', stderr });

    expect(await backUp(service.dataDir, backup)).toEqual(fails(`TO is not empty: ${backup}.\n`));
    const within = join(service.dataDir, 'objects', 'backup');
    expect(await backUp(service.dataDir, within)).toEqual(
      fails(`TO must be outside of DATA_DIR: ${within}.\n`),
    );
    expect(await runAdmin({ DATA_DIR: service.dataDir }, 'restore', backup)).toEqual(
      fails(
        `DATA_DIR is not empty: ${service.dataDir}. Set it to a new folder, or move that one away first.\n`,
      ),
    );
    const dataDir = join(createTestFolder(), 'data');
    mkdirSync(join(dataDir, '.restoring'), { recursive: true });
    expect(await runAdmin({ DATA_DIR: dataDir }, 'restore', backup)).toEqual(
      fails(`Another restore writes into ${dataDir}, or was interrupted: then empty the folder.\n`),
    );
    const { code, stderr } = await spawnService({ env: { DATA_DIR: dataDir } }).exit;
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^Wrong setting DATA_DIR: a restore into \S+ is in progress, or was interrupted: [^\n]*\n$/,
    );
    expect(existsSync(clusterOf(service.dataDir))).toBe(true);
  });

  it.each([['backup'], ['restore']])('requires the embedded PostgreSQL: %s', async (command) => {
    const { code, stderr } = await runAdmin({ DATABASE_URL: 'postgresql://localhost/x' }, command, 'folder');

    expect(code).toBe(1);
    expect(stderr).toMatch(/^DATABASE_URL is set: [^\n]*docs\/how-to\/back-up-and-restore\.md\.\n$/);
  });
});
