import { randomBytes } from 'node:crypto';
import { existsSync, type Dirent } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Client } from 'pg';
import { clientConfig, type DatabaseAddress } from '../db/database';
import { copyFolder, syncFolder } from './copy-folder';

/** Folders whose content a server creates anew, or which `backUpCluster` copies afterwards. */
const emptied =
  /^(pg_wal|pg_replslot|pg_dynshmem|pg_notify|pg_serial|pg_snapshots|pg_stat_tmp|pg_subtrans|log)\//;

/** Files of the running server, or of earlier backups. */
const leftOut =
  /^(postmaster\.(pid|opts)|backup_label.*|backup_manifest|tablespace_map.*|start\.log|current_logfiles.*|pg_internal\.init.*|pgsql_tmp.*|\.s\.PGSQL\..*)$/;

const controlFile = join('global', 'pg_control');
const segmentName = /^[0-9A-F]{24}$/;

/** A session that makes a backup. Its end discards the backup and releases its WAL. */
interface Session {
  client: Client;
  /** The name of the first segment of WAL that a restore needs. */
  firstSegment: string;
}

/**
 * Copies the data of a running embedded server to a new folder, consistently. A server that is started on the copy recovers to the
 * moment at which this returns.
 * Uses the low-level API of PostgreSQL (`pg_backup_start`): files are copied while they change, and WAL repairs them. The
 * embedded package has no `pg_basebackup`.
 * @param cluster - the folder of its data, readable by this account
 * @param signal - aborts the copy
 * @throws Error when the server ends meanwhile, or has tablespaces; the signal's reason
 */
export async function backUpCluster(
  address: DatabaseAddress,
  cluster: string,
  to: string,
  signal: AbortSignal,
): Promise<void> {
  const session = await startBackup(address);
  try {
    await copyFolder(cluster, to, isData, signal);
    // Last, as in pg_basebackup: it must not be older than the copied files.
    await writeFile(join(to, controlFile), await readStable(join(cluster, controlFile)), {
      mode: 0o600,
      flush: true,
    });
    const { label, lastSegment } = await stopBackup(session);
    await writeFile(join(to, 'backup_label'), label, { mode: 0o600, flush: true });
    await copyWal(cluster, to, [session.firstSegment, lastSegment]);
    await syncFolder(to);
  } finally {
    await session.client.end().catch(() => undefined);
  }
}

/** Returns whether a file or folder belongs to the copy. */
function isData(path: string, entry: Dirent): boolean {
  return path !== controlFile && !emptied.test(path) && !leftOut.test(basename(entry.name));
}

async function startBackup(address: DatabaseAddress): Promise<Session> {
  const client = new Client(clientConfig(address, 'backup'));
  // The next query fails.
  client.on('error', () => undefined);
  await client.connect();
  try {
    // Temporary: the server keeps the WAL from here on until the session ends.
    const slot = `backup_${randomBytes(6).toString('hex')}`;
    await client.query('select pg_create_physical_replication_slot($1, true, true)', [slot]);
    const { rows } = await client.query<{ segment: string }>(
      `select pg_walfile_name(pg_backup_start('partner catalog', fast => true)) as segment`,
    );
    return { client, firstSegment: rows[0]!.segment };
  } catch (error) {
    await client.end();
    throw error;
  }
}

async function stopBackup({ client }: Session): Promise<{ label: string; lastSegment: string }> {
  const { rows } = await client.query<{ label: string; tablespaces: string; segment: string }>(
    `select labelfile as label, spcmapfile as tablespaces, pg_walfile_name(lsn) as segment
     from pg_backup_stop(wait_for_archive => false)`,
  );
  const { label, tablespaces, segment } = rows[0]!;
  if (tablespaces !== '') throw new Error('The database has tablespaces, which are not copied.');
  return { label, lastSegment: segment };
}

/** Copies the segments of WAL that were written during the backup; the server has started another one since. */
async function copyWal(cluster: string, to: string, [first, last]: [string, string]): Promise<void> {
  const isNeeded = (path: string) => segmentName.test(path) && path >= first && path <= last;
  await copyFolder(join(cluster, 'pg_wal'), join(to, 'pg_wal'), isNeeded);
  if (!existsSync(join(to, 'pg_wal', first)))
    throw new Error(`PostgreSQL has removed the WAL of the backup (${first}).`);
}

/** Reads a small file that is overwritten in place, until two reads are the same. */
async function readStable(file: string): Promise<Buffer> {
  for (let last = await readFile(file); ;) {
    const next = await readFile(file);
    if (next.equals(last)) return next;
    last = next;
  }
}
