import { openDatabase, queryRows, type Database, type DatabaseAddress } from '../../src/db/database';
import { readsThrough, type Reads } from '../../src/db/reads';
import { Replica } from '../../src/db/replica';
import { createLog } from '../../src/shared/log';
import { afterFile } from './after-file';
import { eventually } from './eventually';

/** A replica as the service watches it, and reads that go through it. */
export interface WatchedReplica {
  replica: Replica;
  reads: Reads;
  /** What it has logged: the texts, with the reason where there is one. */
  said: string[];
}

/** Watches a replica of a primary. It is stopped after the file. */
export function watchReplica(
  primary: DatabaseAddress,
  url: string,
  { lagSeconds = 60, connections = 5 }: { lagSeconds?: number; connections?: number } = {},
): WatchedReplica {
  const said: string[] = [];
  const log = createLog('info', {
    write(line) {
      const { msg, reason } = JSON.parse(line) as { msg: string; reason?: string };
      said.push(reason ? `${msg}: ${reason}` : msg);
    },
  });
  const db = openDatabase(primary, { applicationName: 'test', connectionsMax: 5, queryMilliseconds: 10_000 });
  const replica = new Replica({ url, connections, lagSeconds }, primary, log);
  afterFile(async () => {
    await replica.stop();
    await db.destroy();
  });
  return { replica, reads: readsThrough(replica, db), said };
}

export const used = ({ replica }: WatchedReplica) =>
  eventually('the replica is used', () => replica.age() < Infinity, 60);

export const unused = ({ replica }: WatchedReplica) =>
  eventually('the replica is not used', () => replica.age() === Infinity, 60);

/** Which of the two servers a read is done on. */
export async function placeOf(db: Database): Promise<'replica' | 'primary'> {
  const [row] = await queryRows<{ standby: boolean }>(db, 'select pg_is_in_recovery() as standby', []);
  return row!.standby ? 'replica' : 'primary';
}
