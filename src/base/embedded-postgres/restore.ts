import { readFile, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { copyFolder } from './copy-folder';
import { binaries, createCluster, execute, serverAccount } from './files';
import { startEmbeddedPostgres } from './server';

/**
 * Restores a copy of `backUpCluster` to `<dataDir>/postgres`, and starts and stops a server to recover it.
 * @param dataDir - a folder without a database
 * @throws Error when the copy is of another major version, or PostgreSQL cannot recover it; `discardCluster` then removes the rest
 */
export async function restoreCluster(from: string, dataDir: string): Promise<void> {
  const link = join(dataDir, 'postgres');
  const account = await serverAccount(link);
  const bin = await binaries(account);
  await requireMajorVersion(bin, from);
  await createCluster(link, account, async (folder) => {
    await copyFolder(from, folder);
    if (account) await execute('chown', ['-R', `${account.uid}:${account.gid}`, folder]);
  });
  const postgres = await startEmbeddedPostgres(dataDir);
  await postgres.stop();
}

/** Deletes a cluster, also if its folder is a link. */
export async function discardCluster(dataDir: string): Promise<void> {
  const cluster = await realpath(join(dataDir, 'postgres')).catch(() => undefined);
  if (cluster) await rm(cluster, { recursive: true, force: true });
}

async function requireMajorVersion(bin: string, from: string): Promise<void> {
  const ofData = (await readFile(join(from, 'PG_VERSION'), 'utf8')).trim();
  const { stdout } = await execute(join(bin, 'postgres'), ['--version']);
  const ofServer = /^postgres \(PostgreSQL\) (\d{1,3})\D/.exec(stdout)?.[1];
  if (ofData === ofServer) return;
  throw new Error(
    `The backup is of PostgreSQL ${ofData}, and this version of the service brings ${ofServer}: restore it with the version that made it.`,
  );
}
