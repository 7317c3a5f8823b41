import { setTimeout as sleep } from 'node:timers/promises';
import type { ReplicaConfig } from '../config';
import { limits } from '../limits';
import type { Log } from '../log';
import {
  isDatabaseUnavailable,
  openDatabase,
  queryRows,
  type Database,
  type DatabaseAddress,
} from './database';
import { isReadTimeout } from './dialect';
import { LagMeter } from './lag-meter';
import { poolUse, type PoolUse } from './pool-use';

/** Which database of which server it is: a replica has the same, and so has nothing else. */
const identitySql = `
  (select system_identifier from pg_control_system()) || '/' ||
  (select oid from pg_database where datname = current_database())
`;

/** Positions are bytes of the log since its beginning; what is visible has been flushed to it. */
const primarySql = `
  select ${identitySql} as identity, cast(pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0') as bigint) as position
`;

const replicaSql = `
  select ${identitySql} as identity, pg_is_in_recovery() as "isReplica",
    cast(pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0') as bigint) as position
`;

interface PrimaryState {
  identity: string;
  position: number;
}

interface ReplicaState extends PrimaryState {
  isReplica: boolean;
}

/** Of statements: what a replica replays was in the way of one, or one took too long. That says nothing of the next one. */
const statementFailures = new Set(['40001', '40P01', '57014']);

/**
 * A replica that is looked at every second: how far it is behind, and whether it answers. Nobody waits for that: a request
 * asks what the last look has found. Two connections are for looking, one of them to the database itself.
 */
export class Replica {
  private readonly pool: Database;
  private readonly watchedReplica: Database;
  private readonly watchedPrimary: Database;
  private readonly lagMilliseconds: number;
  private readonly lag = new LagMeter();
  private readonly stopping = new AbortController();
  /** The reads at work there, by how they are given up. */
  private readonly atWork = new Set<(reason: Error) => void>();
  /** Everything that was written until then is there; -Infinity: that is not known. Of `performance.now()`, as all times. */
  private freshAt = -Infinity;
  private restsUntil = -Infinity;
  private readonly startedAt = performance.now();
  /** The last `freshAt` that was known; until then, when this began. */
  private knownFreshAt = this.startedAt;
  /** What was logged last; undefined: nothing yet. */
  private wasUsed?: boolean;
  private identity?: string;

  /** Begins to look at it; it is used as soon as it is known to be fresh. */
  constructor(
    private readonly config: ReplicaConfig,
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
      queryMilliseconds: limits.replicaQueryMilliseconds,
      acquireMilliseconds: limits.replicaAcquireMilliseconds,
    });
    const watch = {
      applicationName: 'replica watch',
      connectionsMax: 1,
      queryMilliseconds: limits.replicaAnswerMilliseconds,
    };
    this.watchedReplica = openDatabase(address, watch);
    this.watchedPrimary = openDatabase(primary, watch);
    // It ends by the signal alone.
    this.watch().catch(() => undefined);
  }

  /** How old at most what it has now is, in milliseconds; Infinity when it is not to be read from. */
  age(): number {
    const now = performance.now();
    const age = now - this.freshAt;
    return age <= this.lagMilliseconds && now >= this.restsUntil ? age : Infinity;
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
      this.atWork.add(reject);
      read(this.pool)
        .finally(() => this.atWork.delete(reject))
        .then(resolve, reject);
    });
  }

  /** Is to be told of a read that it has failed. If it is the replica's fault, it is left alone for a while. */
  failed(error: unknown): void {
    // It is known already.
    if (this.age() === Infinity) return;
    if (!this.isToBlame(error)) {
      this.log.warn({ err: error }, 'a read from the replica has failed; it goes to the database itself');
      return;
    }
    this.restsUntil = performance.now() + limits.replicaRestMilliseconds;
    this.report('a read from it has failed', error);
  }

  /** Ends it. Can be called when nothing is read from it any more. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await Promise.all([this.pool.destroy(), this.watchedReplica.destroy(), this.watchedPrimary.destroy()]);
  }

  private isToBlame(error: unknown): boolean {
    const { code, message, name } = error as Partial<Record<string, string>>;
    // Others may use all of its connections. That none can be opened is another matter.
    if (name === 'KnexTimeoutError') return this.use().used < this.config.connections;
    return isDatabaseUnavailable(error) && !statementFailures.has(code ?? '') && !isReadTimeout(message);
  }

  private async watch(): Promise<void> {
    for (;;) {
      await this.look();
      await sleep(limits.replicaLookMilliseconds, undefined, { ref: false, signal: this.stopping.signal });
    }
  }

  private async look(): Promise<void> {
    await this.lookAtPrimary();
    let state: ReplicaState;
    try {
      state = await inTime(queryRows<ReplicaState>(this.watchedReplica, replicaSql, []));
    } catch (error) {
      this.freshAt = -Infinity;
      for (const giveUp of this.atWork) giveUp(new Error('the replica does not answer', { cause: error }));
      this.report('it does not answer', error);
      return;
    }
    const isOurs = state.isReplica && state.identity === this.identity;
    this.freshAt = isOurs ? this.lag.freshAt(state.position) : -Infinity;
    if (this.freshAt > -Infinity) this.knownFreshAt = this.freshAt;
    // How far it is behind is known when it has come to where the database was at the first look.
    const isKnown = this.freshAt > -Infinity || performance.now() - this.startedAt > this.lagMilliseconds;
    if (this.identity !== undefined && !isOurs) this.report('it is no replica of this database');
    else if (isKnown) this.report('it is too far behind');
  }

  /** Without an answer, the replica is thought to be further behind with each second. */
  private async lookAtPrimary(): Promise<void> {
    const at = performance.now();
    try {
      const { identity, position } = await inTime(
        queryRows<PrimaryState>(this.watchedPrimary, primarySql, []),
      );
      this.identity = identity;
      this.lag.note(position, at);
    } catch (error) {
      this.log.debug({ err: error }, 'the database did not say how far it is');
    }
  }

  /** Tells the log whether it is used, when that has changed. @param reason - why it is not, if it is not */
  private report(reason: string, error?: unknown): void {
    const isUsed = this.age() < Infinity;
    if (this.stopping.signal.aborted || isUsed === this.wasUsed) return;
    this.wasUsed = isUsed;
    if (isUsed) this.log.info('the replica is read from');
    else this.log.warn({ err: error, reason }, 'the replica is not read from');
  }
}

/** The only row, if it comes soon. */
async function inTime<Row>(rows: Promise<Row[]>): Promise<Row> {
  const late = sleep(limits.replicaAnswerMilliseconds, undefined, { ref: false }).then(() => {
    throw new Error('there was no answer in time');
  });
  const [row] = await Promise.race([rows, late]);
  return row!;
}
