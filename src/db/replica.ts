import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../shared/log';
import { startPeriodicTask, type PeriodicTask } from '../shared/periodic-task';
import { openDatabase, queryRows, type Database, type DatabaseAddress } from './database';
import { LagMeter } from './lag-meter';
import { poolUse, type PoolUse } from './pool-use';

interface ReplicaConfig {
  url: string;
  connections: number;
  /** Maximum lag; with more, the replica is not used. */
  lagSeconds: number;
}

/** Pause between two checks of both servers. */
const checkMilliseconds = 1_000;

/** Timeout of a check; then the replica is disabled, and its reads are repeated on the primary. */
const checkTimeoutMilliseconds = 1_000;

/** Timeout of the wait for a connection to the replica. */
const acquireMilliseconds = 1_000;

/** Statement timeout on the replica: half of the primary's, which then repeats the statement. */
export const replicaQueryMilliseconds = 5_000;

/** Identifies a database: a replica has the same identifier as its primary. */
const databaseSql = `
  (select system_identifier from pg_control_system()) || '/' ||
  (select oid from pg_database where datname = current_database())
`;

/** The flushed WAL position, in bytes. Visible changes are flushed. */
const primarySql = `
  select ${databaseSql} as database,
    cast(cast('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8) as bit(32)) as integer) as timeline,
    cast(pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0') as bigint) as position
`;

/** Without pg_read_all_stats, the received timeline is null; the control data have it after the next checkpoint. */
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
  /** A promotion starts another timeline: positions cannot be compared across timelines. */
  timeline: number;
  position: number;
}

interface ReplicaState extends PrimaryState {
  isReplica: boolean;
}

/**
 * A replica whose lag and availability are checked every second. Requests use the result of the last check. The checks have a
 * connection to each server.
 */
export class Replica {
  private readonly pool: Database;
  private readonly watchedReplica: Database;
  private readonly watchedPrimary: Database;
  private readonly lagMilliseconds: number;
  private lag = new LagMeter();
  private readonly watch: PeriodicTask;
  private isStopping = false;
  /** The reject functions of reads in progress. */
  private readonly reading = new Set<(reason: Error) => void>();
  /** The replica has all writes up to this time of `performance.now()`; -Infinity: disabled. */
  private freshAt = -Infinity;
  private readonly startedAt = performance.now();
  /** The last known `freshAt`; initially the start. */
  private knownFreshAt = this.startedAt;
  /** The logged reason why it is disabled; null: enabled. */
  private reported?: string | null;
  private primary?: PrimaryState;
  private hasWarned = false;

  /** Starts the checks; the replica is enabled once its lag is known. */
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
      queryMilliseconds: checkTimeoutMilliseconds,
    };
    this.watchedReplica = openDatabase(address, watch);
    this.watchedPrimary = openDatabase(primary, watch);
    this.watch = startPeriodicTask({
      milliseconds: checkMilliseconds,
      run: () => this.check(),
      onError: (error) => log.error({ err: error }, 'failed to check replica'),
    });
  }

  /** Returns the upper bound of the lag in milliseconds; Infinity while disabled. */
  age(): number {
    const age = performance.now() - this.freshAt;
    return age <= this.lagMilliseconds ? age : Infinity;
  }

  /** Returns the upper bound of the lag in seconds, also while disabled. */
  lagSeconds(): number {
    return (performance.now() - this.knownFreshAt) / 1000;
  }

  use(): PoolUse {
    return poolUse(this.pool);
  }

  /** Reads from the replica. @throws errors of `read`; Error as soon as a check fails */
  read<T>(read: (pool: Database) => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.reading.add(reject);
      read(this.pool)
        .finally(() => this.reading.delete(reject))
        .then(resolve, reject);
    });
  }

  /** Logs the first failed read between two checks; only the checks decide whether the replica is used. */
  noteFailure(error: unknown): void {
    if (this.hasWarned || this.age() === Infinity) return;
    this.hasWarned = true;
    this.log.warn({ err: error }, 'read from replica failed, reading from primary');
  }

  /** Stops the checks and closes the connections; no read may be in progress. */
  async stop(): Promise<void> {
    this.isStopping = true;
    await Promise.all([
      this.watch.stop(),
      this.pool.destroy(),
      this.watchedReplica.destroy(),
      this.watchedPrimary.destroy(),
    ]);
  }

  private async check(): Promise<void> {
    this.hasWarned = false;
    await this.checkPrimary();
    let replica: ReplicaState;
    try {
      replica = await inTime(queryRows<ReplicaState>(this.watchedReplica, replicaSql, []));
    } catch (error) {
      this.freshAt = -Infinity;
      for (const reject of this.reading) reject(new Error('the replica does not answer', { cause: error }));
      return this.report('it does not answer', error);
    }
    const reason = await this.findReason(replica);
    this.freshAt = reason === undefined ? this.lag.freshAt(replica.position) : -Infinity;
    if (this.freshAt > -Infinity) this.knownFreshAt = this.freshAt;
    // The lag is known once the replica has reached the first recorded position.
    const isKnown = this.freshAt > -Infinity || performance.now() - this.startedAt > this.lagMilliseconds;
    if (reason !== undefined || isKnown) this.report(reason ?? 'it is too far behind');
  }

  /** Returns why the position of the replica cannot be compared; undefined if it can. */
  private async findReason({
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
    // The primary may have written since its check: it is checked again.
    if (position <= primary.position || !(await this.checkPrimary())) return undefined;
    if (position <= this.primary!.position) return undefined;
    // Further positions of the primary are of another history.
    this.lag = new LagMeter();
    return 'it is ahead of the primary';
  }

  /** Records the position of the primary; without it, the assumed lag grows. @returns whether it responded */
  private async checkPrimary(): Promise<boolean> {
    const at = performance.now();
    try {
      const primary = await inTime(queryRows<PrimaryState>(this.watchedPrimary, primarySql, []));
      const { database, timeline } = this.primary ?? primary;
      if (primary.database !== database || primary.timeline !== timeline) this.lag = new LagMeter();
      this.primary = primary;
      this.lag.note(primary.position, at);
      return true;
    } catch (error) {
      this.log.debug({ err: error }, 'failed to read primary WAL position');
      return false;
    }
  }

  /** Logs a change between enabled and disabled. @param reason - why it is disabled, if it is */
  private report(reason: string, error?: unknown): void {
    const state = this.age() < Infinity ? null : reason;
    if (this.isStopping || state === this.reported) return;
    this.reported = state;
    if (state === null) this.log.info('replica enabled');
    else this.log.warn({ err: error, reason }, 'replica disabled, reading from primary');
  }
}

/** Returns the only row. @throws Error after `checkTimeoutMilliseconds` */
async function inTime<Row>(rows: Promise<Row[]>): Promise<Row> {
  const late = sleep(checkTimeoutMilliseconds, undefined, { ref: false }).then(() => {
    throw new Error('no response in time');
  });
  const [row] = await Promise.race([rows, late]);
  return row!;
}
