import { replicaQueryMilliseconds } from '../../../src/base/db/replica';
import { productNotFound } from '../../../src/base/errors';
import { eventually } from '../../support/harness';
import {
  caughtUp,
  placeOf,
  startReplicatedPostgres,
  watchReplica,
  type ReplicatedPostgres,
  type TestServer,
  type WatchedReplica,
} from '../../support/replicas';

let postgres: ReplicatedPostgres;

beforeAll(async () => {
  postgres = await startReplicatedPostgres();
});

const watch = (options?: Parameters<typeof watchReplica>[2]) =>
  watchReplica(postgres.primary, postgres.replica, options);

const place = (watched: WatchedReplica) => watched.reads(Infinity, placeOf);
const isRead = (watched: WatchedReplica) =>
  eventually('it is read', async () => (await place(watched)) === 'replica', 60);

async function expectDisabled(watched: WatchedReplica, reason: RegExp): Promise<void> {
  const text = new RegExp(`^replica disabled, reading from primary: ${reason.source}$`);
  await eventually('the log says so', () => text.test(watched.said.at(-1) ?? ''), 60);
  expect(await place(watched)).toBe('primary');
}

/** Makes a server write about 100 KB of WAL. */
const write = (server: TestServer, table: string) =>
  server.ask(`create table ${table} as select number from generate_series(1, 3000) as number`);

describe('a replica', () => {
  it('is read while its lag is below the maximum of the read', async () => {
    const watched = watch();
    await isRead(watched);

    expect(await watched.reads(60, placeOf)).toBe('replica');
    expect(await watched.reads(0, placeOf)).toBe('primary');
  });

  it('is not read beyond the maximum lag: disconnected from WAL, it has replayed everything it received', async () => {
    const { primary, replica } = postgres;
    const watched = watch({ lagSeconds: 2 });
    await isRead(watched);
    await replica.ask(`alter system set primary_conninfo = 'host=/nowhere'`);
    await replica.ask('select pg_reload_conf()');
    const receivers = () => replica.ask('select from pg_stat_wal_receiver');
    await eventually('it receives nothing', async () => (await receivers()).length === 0);

    await write(primary, 'more');

    await expectDisabled(watched, /it is too far behind/);
    expect(watched.replica.lagSeconds()).toBeGreaterThan(2);
    await replica.ask('alter system reset primary_conninfo');
    await replica.ask('select pg_reload_conf()');
    await isRead(watched);
    expect(watched.said.at(-1)).toBe('replica enabled');
  });

  it('is not read when its lag is unknown because the primary does not respond', async () => {
    const watched = watch({ lagSeconds: 2 });
    await isRead(watched);
    postgres.primary.signal('SIGSTOP');
    try {
      await eventually('it is disabled', () => watched.replica.age() === Infinity, 60);
    } finally {
      postgres.primary.signal('SIGCONT');
    }
    await isRead(watched);
  });

  it('a failed read is repeated on the primary', async () => {
    const watched = watch();
    await isRead(watched);
    const places: [string, boolean][] = [];

    const read = watched.reads(Infinity, async (db, isReplica) => {
      places.push([await placeOf(db), isReplica]);
      throw productNotFound('PR00001');
    });

    await expect(read).rejects.toThrow('Product PR00001 not found.');
    expect(places).toEqual([
      ['replica', true],
      ['primary', false],
    ]);
  });

  it('leaves reads to the primary while all of its connections are in use, and stays enabled', async () => {
    const watched = watch({ connections: 2 });
    await isRead(watched);
    let release!: () => void;
    const held = new Promise<void>((resolve) => (release = resolve));
    let begun = 0;
    const hold = () =>
      watched.reads(Infinity, (db) =>
        db.transaction(() => {
          begun++;
          return held;
        }),
      );
    const holding = [hold(), hold()];
    await eventually('its connections are taken', () => begun === 2);

    try {
      expect(await place(watched)).toBe('primary');
      expect(watched.replica.age()).toBeLessThan(Infinity);
    } finally {
      release();
      await Promise.all(holding);
    }
    expect(await place(watched)).toBe('replica');
  });

  it('that freezes with reads on all connections: the reads are repeated on the primary', async () => {
    const watched = watch({ connections: 5 });
    await isRead(watched);
    await Promise.all(Array.from({ length: 5 }, () => place(watched)));
    const begun = performance.now();

    postgres.replica.signal('SIGSTOP');
    try {
      const places = await Promise.all(Array.from({ length: 20 }, () => place(watched)));

      expect(places).toEqual(Array.from({ length: 20 }, () => 'primary'));
      // A timed-out statement waits a second for its cancellation.
      expect(performance.now() - begun).toBeLessThan(replicaQueryMilliseconds + 3_000);
      await expectDisabled(watched, /it does not answer/);
    } finally {
      postgres.replica.signal('SIGCONT');
    }
    await isRead(watched);
  });
});

describe('a server that is not a replica of the database is not read', () => {
  it('if it is the primary itself', async () => {
    await expectDisabled(watchReplica(postgres.primary, postgres.primary), /it is a primary/);
  });

  it('if it is another database on the replica', async () => {
    await expectDisabled(watch({ replicaDatabase: 'postgres' }), /it has .*; the primary has .*/);
  });

  const anotherTimeline = (own: number, primary: number) =>
    new RegExp(`it has .*, timeline ${own}; the primary has .*, timeline ${primary}`);

  describe('after a failover', () => {
    let promoted: TestServer;
    /** Another replica of the same primary. */
    let other: TestServer;

    beforeEach(async () => {
      postgres = await startReplicatedPostgres();
      promoted = postgres.replica;
      await postgres.primary.ask('create role reader login');
      await postgres.caughtUp();
      await promoted.stop();
      other = await promoted.copy();
      await Promise.all([promoted.start(), other.start()]);
      await caughtUp(postgres.primary, other);
    });

    it('if it or its primary was promoted, unless the service has the same primary', async () => {
      const [ofPromoted, ofOther] = [watch(), watchReplica(postgres.primary, other)];
      await Promise.all([isRead(ofPromoted), isRead(ofOther)]);

      await promoted.promote();
      await other.follow(promoted);

      await expectDisabled(ofPromoted, /it is a primary/);
      await expectDisabled(ofOther, anotherTimeline(2, 1));
      await isRead(watchReplica(promoted, other));
      // A database user without privileges sees the timeline only after a checkpoint.
      const ofReader = watchReplica(promoted, other, { user: 'reader' });
      await expectDisabled(ofReader, anotherTimeline(1, 2));
      await promoted.ask('checkpoint');
      await caughtUp(promoted, other);
      await other.ask('checkpoint');
      await isRead(ofReader);
    });

    it('if it follows the old primary, even if its position is not lower', async () => {
      await promoted.promote();
      await write(postgres.primary, 'lost');
      await caughtUp(postgres.primary, other);

      for (const user of ['postgres', 'reader']) {
        await expectDisabled(watchReplica(promoted, other, { user }), anotherTimeline(1, 2));
      }
    });
  });

  it('if it is ahead of its restored primary, even after the primary has written as much', async () => {
    postgres = await startReplicatedPostgres();
    await postgres.primary.stop();
    const restored = await postgres.primary.copy();
    await postgres.primary.start();
    await write(postgres.primary, 'lost');
    await postgres.caughtUp();
    await restored.start();
    const watched = watchReplica(restored, postgres.replica);

    await expectDisabled(watched, /it is ahead of the primary/);
    for (const table of ['other', 'more']) await write(restored, table);
    await expectDisabled(watched, /its lag is unknown/);
    expect(watched.said).not.toContain('replica enabled');
  });
});
