import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../log';
import { startPeriodicTask, type PeriodicTask } from '../concurrency/periodic-task';
import { idleConnectionMilliseconds, openDatabase, queryRowsWithin, type Database } from './database';
import type { Preparing } from './prepared-statements';
import { LagMeter } from './lag-meter';
import { sql } from './sql';

interface ReplicaConfig {
  url: string;
  connections: number;
  /** Maximum lag; with more, the replica is not used. */
  lagSeconds: number;
}

/** Pause between two checks of both servers. */
const checkMilliseconds = 1_000;

/** Timeout of a check of a server, and of the wait for a connection to the replica. */
const checkTimeoutMilliseconds = 1_000;

/**
 * Statement timeout on the replica, after which the primary repeats the statement: twice the slowest measured, and the time in
 * which the checks disable a frozen replica.
 */
export const replicaQueryMilliseconds = 2_000;

interface ServerState {
  isReplica: boolean;
  /** Identifies the sequence of positions: a replica shares it with its primary, and a promotion starts another timeline. */
  history: string;
  /** The WAL position in bytes: replayed, or flushed by the primary. Visible changes are flushed. */
  position: number;
}

/** Without pg_read_all_stats, the received timeline is null; the control data have it after the next checkpoint. */
const stateSql = sql`
  select pg_is_in_recovery() as "isReplica",
    'system ' || (select system_identifier from pg_control_system()) ||
    ', database ' || (select oid from pg_database where datname = current_database()) ||
    ', timeline ' || case when pg_is_in_recovery()
      then coalesce(
        (select received_tli from pg_stat_wal_receiver),
        (select greatest(timeline_id, min_recovery_end_timeline) from pg_control_checkpoint(), pg_control_recovery())
      )
      else cast(cast('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8) as bit(32)) as integer)
    end as history,
    cast(pg_wal_lsn_diff(
      case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_flush_lsn() end, '0/0'
    ) as bigint) as position
`;

/** @throws Error after `checkTimeoutMilliseconds`, which also ends the statement */
async function stateOf(db: Database): Promise<ServerState> {
  const state = queryRowsWithin<ServerState>(db, checkTimeoutMilliseconds, stateSql);
  const late = sleep(checkTimeoutMilliseconds, undefined, { ref: false });
  const rows = await Promise.race([state, late]);
  if (!rows) throw new Error('no response in time');
  return rows[0]!;
}

/**
 * A replica whose lag and availability are checked every second. Requests use the result of the last check.
 * The checks have their own connection to the replica, and share the pool of the requests for the primary: while that is full, a
 * check may be late, and the assumed lag grows.
 */
export class Replica {
  readonly pool: Database;
  private readonly watched: Database;
  private readonly lagMilliseconds: number;
  private readonly watch: PeriodicTask;
  private lag = new LagMeter();
  /** The last response of the primary. */
  private primary?: ServerState;
  /** The replica has all writes up to this time of `performance.now()`; -Infinity: unknown. */
  private freshAt = -Infinity;
  /** The last logged state: why it is disabled; null: enabled. */
  private logged?: string | null;

  /** Starts the checks; the replica is enabled once its lag is known. @param db - the pool of the primary */
  constructor(
    { url, connections, lagSeconds }: ReplicaConfig,
    private readonly db: Database,
    private readonly log: Log,
    options: { preparesStatements?: Preparing; log?: Log } = {},
  ) {
    this.lagMilliseconds = lagSeconds * 1000;
    const address = { connectionString: url };
    this.pool = openDatabase(address, {
      ...options,
      applicationName: 'api reads',
      connectionsMax: connections,
      queryMilliseconds: replicaQueryMilliseconds,
      acquireMilliseconds: checkTimeoutMilliseconds,
      idleMilliseconds: idleConnectionMilliseconds.ofRequests,
    });
    this.watched = openDatabase(address, { applicationName: 'replica watch', connectionsMax: 1 });
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

  /** Returns the upper bound of the lag in seconds, also beyond the maximum; Infinity if unknown. */
  lagSeconds(): number {
    return (performance.now() - this.freshAt) / 1000;
  }

  /** Stops the checks and closes the connections; no read may be in progress. */
  async stop(): Promise<void> {
    await this.watch.stop();
    await Promise.all([this.pool.destroy(), this.watched.destroy()]);
  }

  private async check(): Promise<void> {
    await this.checkPrimary();
    let failure: unknown;
    let reason: string | undefined;
    try {
      reason = await this.compare(await stateOf(this.watched));
    } catch (error) {
      failure = error;
      reason = 'it does not answer';
    }
    if (reason !== undefined) this.freshAt = -Infinity;
    const unknownOr = (text: string) => (this.freshAt === -Infinity ? 'its lag is unknown' : text);
    const disabled = this.age() < Infinity ? null : (reason ?? unknownOr('it is too far behind'));
    if (disabled === this.logged) return;
    this.logged = disabled;
    if (disabled === null) this.log.info('replica enabled');
    else this.log.warn({ err: failure, reason: disabled }, 'replica disabled, reading from primary');
  }

  /** Measures the lag. @returns why the positions cannot be compared */
  private async compare({ isReplica, history, position }: ServerState): Promise<string | undefined> {
    if (!isReplica) return 'it is a primary';
    if (!this.primary) return undefined;
    // The primary may have written since its check: check it again.
    if (position > this.primary.position && !(await this.checkPrimary())) return undefined;
    if (history !== this.primary.history) return `it has ${history}; the primary has ${this.primary.history}`;
    if (position > this.primary.position) {
      // Further positions of the primary belong to another history.
      this.lag = new LagMeter();
      return 'it is ahead of the primary';
    }
    this.freshAt = this.lag.freshAt(position);
    return undefined;
  }

  /** Records the position of the primary; without it, the assumed lag grows. @returns whether the primary responded */
  private async checkPrimary(): Promise<boolean> {
    const at = performance.now();
    try {
      const primary = await stateOf(this.db);
      if (primary.isReplica) throw new Error('the primary is in recovery');
      if (primary.history !== this.primary?.history) this.lag = new LagMeter();
      this.primary = primary;
      this.lag.note(primary.position, at);
      return true;
    } catch (error) {
      this.log.debug({ err: error }, 'failed to read primary WAL position');
      return false;
    }
  }
}
