import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../shared/log';
import { startPeriodicTask, type PeriodicTask } from '../shared/periodic-task';
import { openDatabase, queryRows, type Database, type DatabaseAddress } from './database';
import { LagMeter } from './lag-meter';
import { poolUse, type PoolUse } from './pool-use';

/** Where the replica is, and how it is used. */
interface ReplicaConfig {
  url: string;
  connections: number;
  /** A replica that is further behind serves no reads. */
  lagSeconds: number;
}

/** How often both servers are asked for their positions. */
const lookMilliseconds = 1_000;

/** A server that has not answered by then is taken for dead, or frozen; reads that wait for it go to the primary. */
const answerMilliseconds = 1_000;

/** How long a request waits for a connection to the replica; then there is the primary. */
const acquireMilliseconds = 1_000;

/** How long a request waits for a statement on the replica: half of what the primary has for it. */
export const replicaQueryMilliseconds = 5_000;

/** The database of one cluster: a replica has the same, and no other server has it. */
const databaseSql = `
  (select system_identifier from pg_control_system()) || '/' ||
  (select oid from pg_database where datname = current_database())
`;

/** A position is the bytes of the log since its beginning; what is visible has been flushed to it. */
const primarySql = `
  select ${databaseSql} as database,
    cast(cast('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8) as bit(32)) as integer) as timeline,
    cast(pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0') as bigint) as position
`;

/**
 * Who may not read statistics (pg_read_all_stats) sees no received timeline, and learns of another one with the replica's
 * next checkpoint.
 */
const replicaSql = `
  select ${databaseSql} as database, pg_is_in_recovery() as "isReplica",
    coalesce(
      (select received_tli from pg_stat_wal_receiver),
      (select greatest(timeline_id, min_recovery_end_timeline) from pg_control_checkpoint(), pg_control_recovery())
    ) as timeline,
    cast(pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0') as bigint) as position
`;

interface PrimaryState {
  database: string;
  /** A promotion begins another one: positions say nothing across timelines. */
  timeline: number;
  position: number;
}

interface ReplicaState extends PrimaryState {
  isReplica: boolean;
}

/**
 * A replica that is looked at every second: how far it is behind, and whether it answers. No request waits for that: it
 * asks what the last look has found. Two connections are for looking, one of them to the primary.
 */
export class Replica {
  private readonly pool: Database;
  private readonly watchedReplica: Database;
  private readonly watchedPrimary: Database;
  private readonly lagMilliseconds: number;
  private lag = new LagMeter();
  private readonly watch: PeriodicTask;
  private isStopping = false;
  /** The reads in progress there, by how they are rejected. */
  private readonly reading = new Set<(reason: Error) => void>();
  /** Everything that was written until then is there; -Infinity: that is not known. Of `performance.now()`, as all times. */
  private freshAt = -Infinity;
  private readonly startedAt = performance.now();
  /** The last `freshAt` that was known; until then, the start. */
  private knownFreshAt = this.startedAt;
  /** Why it is not used, as logged last; null: it is used. */
  private reported?: string | null;
  /** The last answer of the primary. */
  private primary?: PrimaryState;
  /** Whether a failed read was logged since the last look. */
  private hasWarned = false;

  /** Starts to look at it; it is used as soon as it is known to be fresh. */
  constructor(
    config: ReplicaConfig,
    primary: DatabaseAddress,
    private readonly log: Log,
    options: { preparesStatements?: boolean } = {},
  ) {
    this.lagMilliseconds = config.lagSeconds * 1000;
    const address = { connectionString: config.url };
    this.pool = openDatabase(address, {
      ...options,
      applicationName: 'api reads',
      connectionsMax: config.connections,
      queryMilliseconds: replicaQueryMilliseconds,
      acquireMilliseconds,
    });
    const watch = {
      applicationName: 'replica watch',
      connectionsMax: 1,
      queryMilliseconds: answerMilliseconds,
    };
    this.watchedReplica = openDatabase(address, watch);
    this.watchedPrimary = openDatabase(primary, watch);
    this.watch = startPeriodicTask({
      milliseconds: lookMilliseconds,
      run: () => this.look(),
      onError: (error) => log.error({ err: error }, 'failed to look at the replica'),
    });
  }

  /** How old at most what it has now is, in milliseconds; Infinity when it is not to be read from. */
  age(): number {
    const age = performance.now() - this.freshAt;
    return age <= this.lagMilliseconds ? age : Infinity;
  }

  /** How far it is behind at most, in seconds, whether it is used or not: for so long it is not known to have everything. */
  lagSeconds(): number {
    return (performance.now() - this.knownFreshAt) / 1000;
  }

  use(): PoolUse {
    return poolUse(this.pool);
  }

  /** Reads from it. @throws what `read` throws; as soon as it is known to be dead or frozen, that it does not answer */
  read<T>(read: (pool: Database) => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.reading.add(reject);
      read(this.pool)
        .finally(() => this.reading.delete(reject))
        .then(resolve, reject);
    });
  }

  /** Logs a read that failed there, the first between two looks; whether it is used is decided by the looks alone. */
  noteFailure(error: unknown): void {
    if (this.hasWarned || this.age() === Infinity) return;
    this.hasWarned = true;
    this.log.warn({ err: error }, 'read from replica failed, reading from primary');
  }

  /** Stops looking. To be called when nothing is read from it any more. */
  async stop(): Promise<void> {
    this.isStopping = true;
    await Promise.all([
      this.watch.stop(),
      this.pool.destroy(),
      this.watchedReplica.destroy(),
      this.watchedPrimary.destroy(),
    ]);
  }

  private async look(): Promise<void> {
    this.hasWarned = false;
    await this.lookAtPrimary();
    let replica: ReplicaState;
    try {
      replica = await inTime(queryRows<ReplicaState>(this.watchedReplica, replicaSql, []));
    } catch (error) {
      this.freshAt = -Infinity;
      for (const reject of this.reading) reject(new Error('the replica does not answer', { cause: error }));
      return this.report('it does not answer', error);
    }
    const reason = await this.whyUnfit(replica);
    this.freshAt = reason === undefined ? this.lag.freshAt(replica.position) : -Infinity;
    if (this.freshAt > -Infinity) this.knownFreshAt = this.freshAt;
    // How far it is behind is known when it has come to where the primary was at the first look.
    const isKnown = this.freshAt > -Infinity || performance.now() - this.startedAt > this.lagMilliseconds;
    if (reason !== undefined || isKnown) this.report(reason ?? 'it is too far behind');
  }

  /** Why its position says nothing of how fresh it is; undefined: it does. */
  private async whyUnfit({
    database,
    isReplica,
    timeline,
    position,
  }: ReplicaState): Promise<string | undefined> {
    if (!isReplica) return 'it is a primary';
    const { primary } = this;
    if (!primary) return undefined;
    if (database !== primary.database) return 'it has another database';
    if (timeline !== primary.timeline) {
      return `it is on timeline ${timeline}, the primary on timeline ${primary.timeline}`;
    }
    // The primary writes on meanwhile: a replica that is further than it was is ahead only if it still is.
    if (position <= primary.position || !(await this.lookAtPrimary())) return undefined;
    if (position <= this.primary!.position) return undefined;
    // What the primary comes to write until then is not what the replica has.
    this.lag = new LagMeter();
    return 'it is ahead of the primary';
  }

  /** Without an answer, the replica is thought to be further behind with each second. @returns whether there was one */
  private async lookAtPrimary(): Promise<boolean> {
    const at = performance.now();
    try {
      const primary = await inTime(queryRows<PrimaryState>(this.watchedPrimary, primarySql, []));
      const { database, timeline } = this.primary ?? primary;
      if (primary.database !== database || primary.timeline !== timeline) this.lag = new LagMeter();
      this.primary = primary;
      this.lag.note(primary.position, at);
      return true;
    } catch (error) {
      this.log.debug({ err: error }, 'the primary did not say how far it is');
      return false;
    }
  }

  /** Logs whether it is used, and why not, when that has changed. @param reason - why it is not, if it is not */
  private report(reason: string, error?: unknown): void {
    const state = this.age() < Infinity ? null : reason;
    if (this.isStopping || state === this.reported) return;
    this.reported = state;
    if (state === null) this.log.info('replica enabled');
    else this.log.warn({ err: error, reason }, 'replica disabled, reading from primary');
  }
}

/** The only row, if it comes soon. */
async function inTime<Row>(rows: Promise<Row[]>): Promise<Row> {
  const late = sleep(answerMilliseconds, undefined, { ref: false }).then(() => {
    throw new Error('there was no answer in time');
  });
  const [row] = await Promise.race([rows, late]);
  return row!;
}
