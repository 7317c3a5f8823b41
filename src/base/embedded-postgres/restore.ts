import { realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { DatabaseAddress } from '../db/database';
import { copyFolder } from './copy-folder';
import { binaries, createCluster, execute, requireMajorVersion, serverAccount } from './files';
import { startEmbeddedPostgres } from './server';

/**
 * Restores a copy of `backUpCluster` to `<dataDir>/postgres`, and starts and stops a server to recover it.
 * @param dataDir - a folder without a database
 * @param finish - works on the recovered database
 * @param signal - aborts it
 * @throws Error when the copy is of another major version, or PostgreSQL cannot recover it; `discardCluster` then removes the rest
 */
export async function restoreCluster(
  from: string,
  dataDir: string,
  finish: (address: DatabaseAddress) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const link = join(dataDir, 'postgres');
  const account = await serverAccount(link);
  const bin = await binaries(account);
  await requireMajorVersion(
    bin,
    from,
    (ofData, ofServer) =>
      `The backup is of PostgreSQL ${ofData}, and this version of the service brings ${ofServer}: restore it with the version that made it.`,
  );
  await createCluster(link, account, async (folder) => {
    await copyFolder(from, folder, undefined, signal);
    if (account) await execute('chown', ['-R', `${account.uid}:${account.gid}`, folder]);
  });
  const postgres = await startEmbeddedPostgres(dataDir, {}, signal);
  await finish(postgres.address).finally(() => postgres.stop());
}

/** Deletes a cluster, also if its folder is a link. */
export async function discardCluster(dataDir: string): Promise<void> {
  const cluster = await realpath(join(dataDir, 'postgres')).catch(() => undefined);
  if (cluster) await rm(cluster, { recursive: true, force: true });
}
