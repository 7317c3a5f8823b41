import type { DatabaseAddress } from '../../src/db/database';
import { databaseUrl } from '../support/databases';
import { eventually } from '../support/harness';
import {
  caughtUp,
  startReplicatedPostgres,
  type ReplicatedPostgres,
  type TestServer,
  placeOf,
  unused,
  used,
  watchReplica,
  type WatchedReplica,
} from '../support/replicas';

const disabled = (reason: string) => `replica disabled, reading from primary: ${reason}`;

const watch = (primary: TestServer, replica: TestServer, user = 'postgres'): WatchedReplica =>
  watchReplica(as(primary, user), databaseUrl(as(replica, user)), { lagSeconds: 600 });

const as = ({ address }: TestServer, user: string): DatabaseAddress => ({ ...address, user });

/** Reads on the primary, and says in its log why. */
async function expectDisabled(watched: WatchedReplica, reason: string): Promise<void> {
  await eventually('the log says so', () => watched.said.at(-1) === disabled(reason));
  expect(watched.replica.age()).toBe(Infinity);
  expect(await watched.reads(Infinity, placeOf)).toBe('primary');
}

/** Has a server write some 100 KB. */
const write = (server: TestServer, table: string) =>
  server.ask(`create table ${table} as select number from generate_series(1, 3000) as number`);

const position = async (server: TestServer): Promise<number> => {
  const [row] = await server.ask<{ position: string }>(
    "select case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_flush_lsn() end - '0/0' as position",
  );
  return Number(row!.position);
};

/** Returns when the watch has asked the primary once more. */
async function lookedAgain(primary: TestServer): Promise<void> {
  const sql =
    "select cast(query_start as text) as at from pg_stat_activity where application_name = 'replica watch'";
  const before = await primary.ask<{ at: string }>(sql);
  await eventually(
    'it checks again',
    async () => (await primary.ask<{ at: string }>(sql))[0]!.at !== before[0]!.at,
  );
}

describe('after a failover', () => {
  let postgres: ReplicatedPostgres;
  /** Another replica of the same primary. */
  let other: TestServer;

  beforeEach(async () => {
    postgres = await startReplicatedPostgres();
    await postgres.primary.ask('create role reader login');
    await postgres.caughtUp();
    await postgres.replica.stop();
    other = await postgres.replica.copyAsReplicaOf(postgres.primary);
    await Promise.all([postgres.replica.start(), other.start()]);
    await caughtUp(postgres.primary, other);
  });

  it('a promoted replica is not used', async () => {
    const watched = watch(postgres.primary, postgres.replica);
    await used(watched);

    await postgres.replica.promote();

    await expectDisabled(watched, 'it is a primary');
  });

  it.each(['postgres', 'reader'])(
    'a replica of the old primary is not used, although its position is not lower: as %s',
    async (user) => {
      await postgres.replica.promote();
      await write(postgres.primary, 'lost');
      await caughtUp(postgres.primary, other);
      expect(await position(other)).toBeGreaterThan(await position(postgres.replica));

      const watched = watch(postgres.replica, other, user);

      await expectDisabled(watched, 'it is on timeline 1, the primary on timeline 2');
      await write(postgres.replica, 'kept');
      await write(postgres.replica, 'kept_too');
      expect(await position(other)).toBeLessThan(await position(postgres.replica));
      await write(postgres.primary, 'lost_too');
      expect(await watched.reads(Infinity, placeOf)).toBe('primary');
      expect(watched.said).toHaveLength(1);
    },
  );

  it('a replica of the new primary is not used while the service writes to the old one', async () => {
    const watched = watch(postgres.primary, other);
    await used(watched);
    await postgres.replica.promote();

    await follow(other, postgres.replica);

    await expectDisabled(watched, 'it is on timeline 2, the primary on timeline 1');
  });

  it('a replica of the new primary is used', async () => {
    await postgres.replica.promote();
    const watched = watch(postgres.replica, other);
    await unused(watched);

    await follow(other, postgres.replica);

    await used(watched);
    expect(await watched.reads(Infinity, placeOf)).toBe('replica');
  });

  it('a replica of the new primary is used by an account without rights after its next checkpoint', async () => {
    await postgres.replica.promote();
    const watched = watch(postgres.replica, other, 'reader');
    await follow(other, postgres.replica);
    await expectDisabled(watched, 'it is on timeline 1, the primary on timeline 2');

    await postgres.replica.ask('checkpoint');
    await caughtUp(postgres.replica, other);
    await other.ask('checkpoint');

    await used(watched);
  });
});

/** Has a running replica follow another server. */
async function follow(replica: TestServer, { address }: TestServer): Promise<void> {
  const { host, port, user } = address;
  await replica.ask(`alter system set primary_conninfo = 'host=${host} port=${port} user=${user}'`);
  await replica.ask('select pg_reload_conf()');
  await eventually(
    'it follows',
    async () => {
      const sql = "select from pg_stat_wal_receiver where received_tli = 2 and status = 'streaming'";
      return (await replica.ask(sql)).length > 0;
    },
    60,
  );
}

describe('a replica that is ahead of its primary, which was restored', () => {
  it('is not used, also after the primary has written as much again', async () => {
    const postgres = await startReplicatedPostgres();
    const { primary, replica } = postgres;
    await postgres.caughtUp();
    await primary.stop();
    const restore = await primary.backUp();
    await primary.start();
    await write(primary, 'lost');
    await postgres.caughtUp();
    await primary.stop();
    await restore();
    await primary.start();
    const watched = watch(primary, replica);

    await expectDisabled(watched, 'it is ahead of the primary');
    for (let time = 0; (await position(primary)) < (await position(replica)); time++) {
      await write(primary, `other${time}`);
    }

    for (let looks = 0; looks < 3; looks++) {
      await lookedAgain(primary);
      expect(watched.replica.age()).toBe(Infinity);
    }
    expect(watched.said).toEqual([disabled('it is ahead of the primary')]);
  });
});
