import { setTimeout as sleep } from 'node:timers/promises';
import { queryRows, type DatabaseAddress } from '../../src/db/database';
import { productNotFound } from '../../src/shared/errors';
import { replicaQueryMilliseconds } from '../../src/db/replica';
import { databaseUrl } from '../support/databases';
import { eventually } from '../support/harness';
import {
  startReplicatedPostgres,
  type ReplicatedPostgres,
  placeOf,
  unused,
  used,
  watchReplica,
  type WatchedReplica,
} from '../support/replicas';

let postgres: ReplicatedPostgres;
let urlOfReplica: string;

beforeAll(async () => {
  // What replay and a statement want at the same time, replay gets at once.
  postgres = await startReplicatedPostgres({ max_standby_streaming_delay: '0' });
  urlOfReplica = databaseUrl(postgres.replica.address);
  await postgres.primary.ask('create table thing as select 1 as id');
  await postgres.caughtUp();
});

/** Watches a replica, the one of the file unless another address is given. */
function watch({
  url = urlOfReplica,
  primary = postgres.primary.address,
  ...options
}: {
  url?: string;
  primary?: DatabaseAddress;
  lagSeconds?: number;
  connections?: number;
} = {}): WatchedReplica {
  return watchReplica(primary, url, options);
}

describe('a replica without lag', () => {
  it('is used, also without writes for longer than the maximum lag', async () => {
    const watched = watch({ lagSeconds: 3 });
    await used(watched);
    const until = performance.now() + 5_000;

    // On a machine that stands still for seconds, it is not looked at for as long.
    let unusedTimes = 0;
    while (performance.now() < until) {
      if ((await watched.reads(Infinity, placeOf)) === 'primary') unusedTimes++;
      await sleep(200);
    }

    expect(unusedTimes).toBeLessThan(10);
    expect(await eventually('it is read from', () => watched.reads(Infinity, placeOf))).toBe('replica');
  });

  it('is not used for a read that allows less than its lag', async () => {
    const watched = watch();
    await used(watched);

    expect(await watched.reads(0, placeOf)).toBe('primary');
    expect(await watched.reads(60, placeOf)).toBe('replica');
  });

  it('is known to the reader, whose failed read is repeated on the primary', async () => {
    const watched = watch();
    await used(watched);
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
    expect(watched.replica.age()).toBeLessThan(Infinity);
    expect(watched.said).toEqual(['replica enabled']);
  });

  it('stays enabled after a statement that the replay has cancelled, which is repeated on the primary', async () => {
    const watched = watch();
    await used(watched);
    const begun: string[] = [];

    const read = watched.reads(Infinity, async (db, isReplica) => {
      begun.push(await placeOf(db));
      await queryRows(db, isReplica ? 'select pg_sleep(60) from pg_class, thing' : 'select from thing', []);
      return placeOf(db);
    });
    await eventually('it executes the statement', async () => {
      const sql = `select 1 from pg_stat_activity where query like '%pg_sleep%' and pid <> pg_backend_pid()`;
      return (await postgres.replica.ask(sql)).length > 0;
    });
    await postgres.primary.ask('begin; lock table thing in access exclusive mode; drop table thing; commit');

    await expect(read).rejects.toThrow('relation "thing" does not exist');
    expect(begun).toEqual(['replica', 'primary']);
    expect(watched.replica.age()).toBeLessThan(Infinity);
    expect(watched.said).toContain('read from replica failed, reading from primary');
  });

  it('leaves reads to the primary while all of its connections are in use', async () => {
    const watched = watch({ connections: 2 });
    await used(watched);
    let release!: () => void;
    const held = new Promise<void>((resolve) => (release = resolve));
    const hold = () => watched.reads(Infinity, (db) => db.transaction(() => held));
    const holding = [hold(), hold()];
    await eventually('its connections are taken', () => watched.replica.use().used === 2);

    try {
      expect(await watched.reads(Infinity, placeOf)).toBe('primary');
      expect(watched.replica.age()).toBeLessThan(Infinity);
    } finally {
      release();
      await Promise.all(holding);
    }
    expect(await watched.reads(Infinity, placeOf)).toBe('replica');
  });
});

describe('a replica with lag', () => {
  afterEach(() => postgres.resumeReplay());

  it('is disabled beyond the maximum lag until it has caught up', async () => {
    const watched = watch({ lagSeconds: 2 });
    await used(watched);
    await postgres.pauseReplay();
    await postgres.primary.ask('create table one_more ()');

    await unused(watched);
    expect(await watched.reads(Infinity, placeOf)).toBe('primary');
    expect(watched.replica.lagSeconds()).toBeGreaterThan(2);
    await eventually('the log says so', () =>
      watched.said.includes('replica disabled, reading from primary: it is too far behind'),
    );

    await postgres.resumeReplay();
    await used(watched);
    expect(await eventually('it is read from', () => watched.reads(Infinity, placeOf))).toBe('replica');
  });

  it('is disabled when it is cut off from the primary, although it has replayed all that it received', async () => {
    const watched = watch({ lagSeconds: 2 });
    await used(watched);
    await postgres.replica.ask(`alter system set primary_conninfo = 'host=/nowhere'`);
    await postgres.replica.ask('select pg_reload_conf()');
    await eventually('nothing comes', async () => {
      return (await postgres.replica.ask('select from pg_stat_wal_receiver')).length === 0;
    });

    await postgres.primary.ask('create table and_another ()');
    const [state] = await postgres.replica.ask<{ thinks: boolean }>(
      'select pg_last_wal_receive_lsn() <= pg_last_wal_replay_lsn() as thinks',
    );
    expect(state!.thinks).toBe(true);
    await unused(watched);

    await postgres.replica.ask('alter system reset primary_conninfo');
    await postgres.replica.ask('select pg_reload_conf()');
    await used(watched);
  });

  it('is disabled when its lag is unknown, because the primary is unreachable', async () => {
    const watched = watch({ lagSeconds: 2 });
    await used(watched);
    postgres.primary.signal('SIGSTOP');
    try {
      await unused(watched);
    } finally {
      postgres.primary.signal('SIGCONT');
    }
    await used(watched);
  });
});

describe('a server that is not a replica of the database', () => {
  it.each<[string, () => string, string]>([
    ['the database itself', () => databaseUrl(postgres.primary.address), 'it is a primary'],
    [
      'another database of the replica',
      () => databaseUrl({ ...postgres.replica.address, database: 'postgres' }),
      'it has another database',
    ],
  ])('is not used: %s', async (_what, url, reason) => {
    const watched = watch({ url: url() });

    await eventually('the log says so', () => watched.said.length > 0);

    expect(watched.said).toEqual([`replica disabled, reading from primary: ${reason}`]);
    expect(await watched.reads(Infinity, placeOf)).toBe('primary');
  });

  it('can be checked by an account without any rights', async () => {
    await postgres.primary.ask('create role reader login');
    await postgres.caughtUp();
    const watched = watch({
      url: databaseUrl(postgres.replica.address, 'reader'),
      primary: { ...postgres.primary.address, user: 'reader' },
    });

    await used(watched);
    expect(await watched.reads(Infinity, placeOf)).toBe('replica');
  });
});

describe('a replica that dies', () => {
  it('has its reads repeated on the primary, and is enabled again after its restart', async () => {
    const watched = watch();
    await used(watched);
    const slow = () =>
      watched.reads(Infinity, async (db, isReplica) => {
        if (isReplica) await queryRows(db, 'select pg_sleep(60)', []);
        return placeOf(db);
      });
    const inProgress = [slow(), slow(), slow()];
    await eventually('they are at work', () => watched.replica.use().used === 3);

    postgres.replica.signal('SIGKILL');

    expect(await Promise.all(inProgress)).toEqual(['primary', 'primary', 'primary']);
    expect(await watched.reads(Infinity, placeOf)).toBe('primary');
    await eventually('the log says so', () =>
      watched.said.includes('replica disabled, reading from primary: it does not answer'),
    );
    expect(watched.said.filter((text) => text.startsWith('read from replica failed'))).toHaveLength(1);
    await postgres.replica.start();
    await used(watched);
    expect(await eventually('it is read from', () => watched.reads(Infinity, placeOf))).toBe('replica');
  });

  it('or freezes has its reads repeated on the primary before their timeout', async () => {
    const watched = watch();
    await used(watched);
    await Promise.all(Array.from({ length: 5 }, () => watched.reads(Infinity, placeOf)));

    postgres.replica.signal('SIGSTOP');
    try {
      const begun = performance.now();
      const places = await Promise.all(Array.from({ length: 20 }, () => watched.reads(Infinity, placeOf)));
      const milliseconds = performance.now() - begun;

      expect(places).toEqual(Array.from({ length: 20 }, () => 'primary'));
      expect(milliseconds).toBeLessThan(replicaQueryMilliseconds);
      expect(watched.replica.age()).toBe(Infinity);
    } finally {
      postgres.replica.signal('SIGCONT');
    }
    await used(watched);
    expect(await eventually('it is read from', () => watched.reads(Infinity, placeOf))).toBe('replica');
  });
});
