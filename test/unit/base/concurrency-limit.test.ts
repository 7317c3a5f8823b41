import fc from 'fast-check';
import { unauthorized } from '../../../src/base/errors';
import {
  ConcurrencyLimit,
  type PermitRequest,
  type Release,
} from '../../../src/base/concurrency/concurrency-limit';

const unavailable = { code: 'unavailable' };

/** Evictable work of the holder, with its outcome. */
function work(holder: string, bytesPerSecond = Infinity, group?: string) {
  const state = { isEvicted: false };
  const request: PermitRequest = {
    holder,
    group,
    eviction: { evict: () => (state.isEvicted = true), bytesPerSecond: () => bytesPerSecond },
  };
  return { request, state };
}

async function acquireAll(limit: ConcurrencyLimit, all: { request: PermitRequest }[]): Promise<Release[]> {
  const releases = [];
  for (const { request } of all) releases.push(await limit.acquire(request));
  return releases;
}

/** The names of the requests, in the order of their permits. */
function recordGrants(limit: ConcurrencyLimit) {
  const order: string[] = [];
  const releases: Release[] = [];
  const acquire = (name: string, holder: string, group?: string) =>
    limit.acquire({ holder, group }).then((release) => {
      order.push(name);
      releases.push(release);
    });
  return { order, releases, acquire };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('without waiters', () => {
  it.each([
    [1, 1],
    [2, 1],
    [3, 1],
    [4, 2],
    [16, 8],
  ])('grants one holder, of %d permits, %d and rejects the next request', async (capacity, share) => {
    const limit = new ConcurrencyLimit({ capacity, what: 'uploads' });
    await acquireAll(
      limit,
      Array.from({ length: share }, () => work('a')),
    );

    await expect(limit.acquire(work('a').request)).rejects.toMatchObject(unavailable);

    expect(limit.use()).toEqual({ active: share, waiting: 0 });
  });

  it('grants a permit again after one was released, and counts a second release of it once', async () => {
    const limit = new ConcurrencyLimit({ capacity: 2, what: 'uploads' });
    const [release] = await acquireAll(limit, [work('a'), work('b')]);
    release!();
    release!();

    await limit.acquire(work('a').request);

    expect(limit.use().active).toBe(2);
    await expect(limit.acquire(work('a').request)).rejects.toMatchObject(unavailable);
  });

  it('releases the permit when the work of run has ended or failed', async () => {
    const limit = new ConcurrencyLimit({ capacity: 1, what: 'uploads' });

    expect(await limit.run({ holder: 'a' }, () => Promise.resolve('done'))).toBe('done');
    await expect(limit.run({ holder: 'a' }, () => Promise.reject(new Error('no')))).rejects.toThrow('no');

    expect(limit.use().active).toBe(0);
  });
});

describe('with waiters', () => {
  it('grants permits round-robin to waiting holders', async () => {
    const limit = new ConcurrencyLimit({ capacity: 1, maxWaiting: 8, what: 'runs' });
    const { order, releases, acquire } = recordGrants(limit);
    const all = [
      acquire('a1', 'a'),
      acquire('a2', 'a'),
      acquire('a3', 'a'),
      acquire('b1', 'b'),
      acquire('b2', 'b'),
      acquire('c1', 'c'),
    ];
    for (let each = 0; each < all.length; each++) {
      await settled();
      releases[each]!();
    }
    await Promise.all(all);

    expect(order).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2']);
  });

  it('grants permits round-robin to groups, and within a group to its holders', async () => {
    const limit = new ConcurrencyLimit({ capacity: 1, maxWaiting: 16, what: 'uploads' });
    const { order, releases, acquire } = recordGrants(limit);
    const names = ['k a', 'k a', 'k b', 'k b', 'l', 'k c', 'l', 'm'];
    const all = ['first', ...names].map((name) => acquire(name, name, name[0]));
    for (let each = 0; each < all.length; each++) {
      await settled();
      releases[each]!();
    }
    await Promise.all(all);

    expect(order).toEqual(['first', 'k a', 'l', 'm', 'k b', 'l', 'k c', 'k a', 'k b']);
  });

  it('queues a holder at its share while it grants free permits to others', async () => {
    const limit = new ConcurrencyLimit({ capacity: 4, maxWaiting: 4, what: 'runs' });
    const { order, releases, acquire } = recordGrants(limit);
    const waiting = [acquire('a1', 'a'), acquire('a2', 'a'), acquire('a3', 'a'), acquire('b1', 'b')];
    await settled();

    expect(order).toEqual(['a1', 'a2', 'b1']);
    expect(limit.use()).toEqual({ active: 3, waiting: 1 });
    releases[0]!();
    await Promise.all(waiting);
    expect(order).toEqual(['a1', 'a2', 'b1', 'a3']);
  });

  it('rejects a holder that has half of the waiters', async () => {
    const limit = new ConcurrencyLimit({ capacity: 1, maxWaiting: 4, what: 'runs' });
    const { acquire } = recordGrants(limit);
    for (const name of ['a1', 'a2', 'a3']) void acquire(name, 'a');

    await expect(acquire('a4', 'a')).rejects.toMatchObject(unavailable);
  });

  it('grants large work its permits, and small work the others meanwhile, also of the same holder', async () => {
    const limit = new ConcurrencyLimit({
      capacity: 4,
      largeMax: 2,
      largeMaxPerHolder: 1,
      maxWaiting: 8,
      what: 'uploads',
    });
    const granted: string[] = [];
    const ask = (name: string, isLarge: boolean) =>
      limit.acquire({ holder: name[0]!, isLarge }).then((release) => {
        granted.push(name);
        return release;
      });
    const first = ask('a1', true);
    const all = [ask('a2', true), ask('b1', true), ask('c1', true), ask('a3', false), ask('c2', false)];
    await settled();
    expect(granted).toEqual(['a1', 'b1', 'a3', 'c2']);

    (await first)();
    await settled();

    expect(granted.slice(4)).toEqual(['a2']);
    expect(limit.use()).toEqual({ active: 4, waiting: all.length - 4 });
  });

  it('displaces the newest waiter of the holder with the most waiters for a holder without one', async () => {
    const limit = new ConcurrencyLimit({ capacity: 1, maxWaiting: 4, what: 'runs' });
    const { acquire } = recordGrants(limit);
    for (const name of ['a0', 'a1']) void acquire(name, 'a');
    const newest = acquire('a2', 'a');
    for (const holder of ['b', 'c', 'd']) void acquire(`${holder}1`, holder);

    await expect(newest).rejects.toMatchObject(unavailable);
    expect(limit.use()).toEqual({ active: 1, waiting: 4 });
  });

  it('rejects a holder without a waiter when each waiter has another holder', async () => {
    const limit = new ConcurrencyLimit({ capacity: 1, maxWaiting: 2, what: 'runs' });
    const { acquire } = recordGrants(limit);
    for (const [name, holder] of [
      ['a1', 'a'],
      ['a2', 'a'],
      ['b1', 'b'],
    ] as const)
      void acquire(name, holder);

    await expect(acquire('c1', 'c')).rejects.toMatchObject(unavailable);
  });

  it('ends the wait with the reason of an aborted signal, and keeps the permit for the next waiter', async () => {
    const limit = new ConcurrencyLimit({ capacity: 1, maxWaiting: 4, what: 'runs' });
    const release = await limit.acquire({ holder: 'a' });
    const gone = new AbortController();
    const left = limit.acquire({ holder: 'b', signal: gone.signal });
    const stays = limit.acquire({ holder: 'c' });
    gone.abort(new Error('client gone'));

    await expect(left).rejects.toThrow('client gone');
    await expect(limit.acquire({ holder: 'd', signal: gone.signal })).rejects.toThrow('client gone');
    release();
    await stays;
    expect(limit.use()).toEqual({ active: 1, waiting: 0 });
  });
});

describe('making room', () => {
  const rules = { waitMilliseconds: 30_000, patienceMilliseconds: 5_000, slowBytesPerSecond: 100 };
  beforeEach(() => void jest.useFakeTimers({ doNotFake: ['setImmediate'] }));
  afterEach(() => void jest.useRealTimers());

  /** Lets requests wait for these milliseconds, then makes room. @returns the ended waits with their outcomes */
  async function makeRoom(limit: ConcurrencyLimit, requests: PermitRequest[], milliseconds = 0) {
    const ended: string[] = [];
    for (const request of requests) {
      limit.acquire(request).then(
        () => ended.push(request.holder),
        () => ended.push(`not ${request.holder}`),
      );
    }
    jest.advanceTimersByTime(milliseconds);
    limit.makeRoom(rules);
    await settled();
    return ended;
  }

  async function full(all: ReturnType<typeof work>[], maxPerHolder = all.length) {
    const limit = new ConcurrencyLimit({
      capacity: all.length,
      maxPerHolder,
      maxWaiting: 8,
      what: 'uploads',
    });
    const releases = await acquireAll(limit, all);
    return { limit, releases, evicted: () => all.map(({ state }) => state.isEvicted) };
  }

  it('evicts the slowest of slow work, even the only one of its holder', async () => {
    const { limit, evicted } = await full([work('a', 50), work('b', 20), work('c', 300)]);

    expect(await makeRoom(limit, [work('d').request])).toEqual(['d']);
    expect(evicted()).toEqual([false, true, false]);
    expect(limit.use()).toEqual({ active: 3, waiting: 0 });
  });

  it('evicts as much slow work as there are waiters', async () => {
    const { limit, evicted } = await full([work('a', 50), work('b', 20), work('c', 30)]);

    expect(await makeRoom(limit, [work('d').request, work('d').request])).toEqual(['d', 'd']);
    expect(evicted()).toEqual([false, true, true]);
  });

  it.each([
    ['the holder itself', 'a', 'key 1', 3],
    ['another holder of the group, which is fast in all', 'c', 'key 1', 3],
    ['a holder at its share', 'b', 'key 2', 1],
  ])('evicts no work for %s', async (_whom, holder, group, maxPerHolder) => {
    const held = [work('a', 50, 'key 1'), work('a', 60, 'key 1'), work('b', Infinity, 'key 2')];
    const all = maxPerHolder === 1 ? held.slice(1) : held;
    const { limit, evicted } = await full(all, maxPerHolder);

    expect(await makeRoom(limit, [work(holder, 0, group).request])).toEqual([]);
    expect(evicted()).toEqual(all.map(() => false));
  });

  it('evicts the slowest work of another holder of the same group, if that holder is slow in total', async () => {
    const { limit, evicted } = await full([work('a', 50, 'key'), work('b', 40, 'key')]);

    expect(await makeRoom(limit, [work('c', 0, 'key').request])).toEqual(['c']);
    expect(evicted()).toEqual([false, true]);
  });

  it('evicts large work for large work beyond its maximum', async () => {
    const limit = new ConcurrencyLimit({ capacity: 3, largeMax: 1, maxWaiting: 8, what: 'uploads' });
    const all = [work('a', 20), work('b', 50)];
    await limit.acquire(all[0]!.request);
    await limit.acquire({ ...all[1]!.request, isLarge: true });

    expect(await makeRoom(limit, [{ ...work('c').request, isLarge: true }])).toEqual(['c']);
    expect(all.map(({ state }) => state.isEvicted)).toEqual([false, true]);
  });

  it('evicts no work above the minimum speed while each holder has a permit', async () => {
    const { limit, evicted } = await full([work('a', 100), work('b', 200)]);

    expect(await makeRoom(limit, [work('c').request], 29_000)).toEqual([]);
    expect(evicted()).toEqual([false, false]);
  });

  it('evicts, after a while, the slowest work of the largest holder for a holder without a permit', async () => {
    const { limit, evicted } = await full([work('a', 500), work('a', 200), work('a', 300), work('b', 100)]);
    const waiter = work('c').request;

    expect(await makeRoom(limit, [waiter], 4_999)).toEqual([]);
    jest.advanceTimersByTime(1);
    limit.makeRoom(rules);

    expect(evicted()).toEqual([false, true, false, false]);
  });

  it('evicts the oldest work of unknown speed', async () => {
    const { limit, evicted } = await full([work('a'), work('a')]);

    expect(await makeRoom(limit, [work('b').request], 5_000)).toEqual(['b']);
    expect(evicted()).toEqual([true, false]);
  });

  it('does not evict fast work for a holder that has a permit already', async () => {
    const { limit, evicted } = await full([work('a'), work('a'), work('a'), work('b')]);

    expect(await makeRoom(limit, [work('b').request], 5_000)).toEqual([]);
    expect(evicted()).toEqual([false, false, false, false]);
  });

  it('does not evict work that cannot be evicted', async () => {
    const { limit } = await full([
      { request: { holder: 'a' }, state: { isEvicted: false } },
      { request: { holder: 'a' }, state: { isEvicted: false } },
    ]);

    expect(await makeRoom(limit, [{ holder: 'b' }], 5_000)).toEqual([]);
  });

  it('evicts for another group even if each holder of the largest group has one permit', async () => {
    const partners = ['a', 'b', 'c', 'd'].map((name, at) => work(`key 1 ${name}`, 400 - at, 'key 1'));
    const { limit, evicted } = await full(partners);

    expect(await makeRoom(limit, [work('key 2 a', 0, 'key 2').request], 5_000)).toEqual(['key 2 a']);
    expect(evicted()).toEqual([false, false, false, true]);
  });

  it('evicts from the largest holder in the largest group', async () => {
    const { limit, evicted } = await full([
      work('key 1 a', 100, 'key 1'),
      work('key 1 b', 200, 'key 1'),
      work('key 1 b', 300, 'key 1'),
      work('c', 100),
    ]);

    expect(await makeRoom(limit, [work('d').request], 5_000)).toEqual(['d']);
    expect(evicted()).toEqual([false, true, false, false]);
  });

  it('does not evict fast work for another holder of a group whose permits all have different holders', async () => {
    const { limit } = await full([work('key 1 a', 100, 'key 1'), work('key 1 b', 100, 'key 1')]);

    expect(await makeRoom(limit, [work('key 1 c', 0, 'key 1').request], 5_000)).toEqual([]);
  });

  it('ignores the release of evicted work', async () => {
    const { limit, releases } = await full([work('a', 1), work('b')]);
    await makeRoom(limit, [work('c').request]);
    releases[0]!();

    expect(limit.use().active).toBe(2);
  });

  it('rejects requests that have waited for too long, here and elsewhere, and requests that must not wait any longer', async () => {
    const { limit } = await full([work('a')]);
    const gone = { ...work('gone').request, refusal: unauthorized };

    expect(await makeRoom(limit, [gone])).toEqual(['not gone']);
    expect(await makeRoom(limit, [work('b').request], 29_999)).toEqual([]);
    expect(await makeRoom(limit, [work('c').request], 29_999)).toEqual([]);
    expect(limit.use()).toEqual({ active: 1, waiting: 1 });
    const late = { ...work('d').request, waitedMilliseconds: 29_999 };
    expect(await makeRoom(limit, [late], 1)).toEqual(['not d']);
  });
});

it('exceeds neither limit nor share, and leaves no permit unused that a waiter may have, for any sequence of requests', async () => {
  const step = fc.oneof(
    fc.record({
      acquire: fc.constantFrom('a', 'b', 'c', 'd'),
      evictable: fc.boolean(),
      isLarge: fc.boolean(),
    }),
    fc.record({ release: fc.nat(20) }),
    fc.record({ abort: fc.nat(20) }),
    fc.record({ makeRoom: fc.constantFrom(0, Infinity) }),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 5 }),
      fc.nat(5),
      fc.array(step),
      async (capacity, max, steps) => {
        const share = Math.max(1, Math.floor(capacity / 2));
        const largeMax = share;
        const limit = new ConcurrencyLimit({ capacity, largeMax, maxWaiting: max, what: 'runs' });
        const held: { holder: string; isLarge: boolean; release: Release }[] = [];
        const waiting: { holder: string; isLarge: boolean; cancel: AbortController }[] = [];
        for (const each of steps) {
          if ('acquire' in each) {
            const cancel = new AbortController();
            const { isLarge } = each;
            const waiter = { holder: each.acquire, isLarge, cancel };
            const permit: (typeof held)[number] = {
              holder: each.acquire,
              isLarge,
              release: () => undefined,
            };
            const eviction = {
              evict: () => void held.splice(held.indexOf(permit), 1),
              bytesPerSecond: () => (held.includes(permit) ? 50 : Infinity),
            };
            waiting.push(waiter);
            limit
              .acquire({
                holder: each.acquire,
                group: each.acquire < 'c' ? 'k' : each.acquire,
                isLarge,
                signal: cancel.signal,
                eviction: each.evictable ? eviction : undefined,
              })
              .then(
                (release) => held.push(Object.assign(permit, { release })),
                () => undefined,
              )
              .finally(() => waiting.splice(waiting.indexOf(waiter), 1));
          } else if ('release' in each) held.splice(each.release, 1)[0]?.release();
          else if ('abort' in each) waiting[each.abort]?.cancel.abort();
          else {
            limit.makeRoom({
              waitMilliseconds: Infinity,
              patienceMilliseconds: each.makeRoom,
              slowBytesPerSecond: each.makeRoom === 0 ? 0 : 100,
            });
          }
          await settled();

          const holders = held.map(({ holder }) => holder);
          const heldBy = (name: string) => holders.filter((holder) => holder === name).length;
          expect(limit.use()).toEqual({ active: held.length, waiting: waiting.length });
          expect(held.length).toBeLessThanOrEqual(capacity);
          expect(waiting.length).toBeLessThanOrEqual(max);
          for (const holder of holders) expect(heldBy(holder)).toBeLessThanOrEqual(share);
          const large = held.filter(({ isLarge }) => isLarge).length;
          expect(large).toBeLessThanOrEqual(largeMax);
          for (const { holder, isLarge } of held.length < capacity ? waiting : [])
            expect(heldBy(holder) === share || (isLarge && large === largeMax)).toBe(true);
        }
      },
    ),
  );
});
