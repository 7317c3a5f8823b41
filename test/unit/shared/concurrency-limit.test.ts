import fc from 'fast-check';
import { ConcurrencyLimit, type PermitRequest, type Release } from '../../../src/shared/concurrency-limit';

const unavailable = { code: 'unavailable' };

/** Evictable work of the holder, with what became of it. */
function work(holder: string, progress = 0, group?: string) {
  const state = { isEvicted: false };
  const request: PermitRequest = {
    holder,
    group,
    eviction: { evict: () => (state.isEvicted = true), progress: () => progress },
  };
  return { request, state };
}

async function acquireAll(limit: ConcurrencyLimit, all: { request: PermitRequest }[]): Promise<Release[]> {
  const releases = [];
  for (const { request } of all) releases.push(await limit.acquire(request));
  return releases;
}

/** The names of the requests, in the order in which they got their permits. */
function recordGrants(limit: ConcurrencyLimit) {
  const order: string[] = [];
  const releases: Release[] = [];
  const acquire = (name: string, holder: string) =>
    limit.acquire({ holder }).then((release) => {
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
  ])('grants one holder, of %d permits, %d and refuses the next one', async (capacity, share) => {
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

  it('evicts the slowest work of the largest holder for a holder without a permit', async () => {
    const limit = new ConcurrencyLimit({ capacity: 4, maxPerHolder: 3, what: 'uploads' });
    const all = [work('a', 5), work('a', 2), work('a', 3), work('b', 1)];
    await acquireAll(limit, all);

    await limit.acquire(work('c').request);

    expect(all.map(({ state }) => state.isEvicted)).toEqual([false, true, false, false]);
    expect(limit.use().active).toBe(4);
  });

  it('evicts the oldest of equally slow work', async () => {
    const limit = new ConcurrencyLimit({ capacity: 2, maxPerHolder: 2, what: 'uploads' });
    const all = [work('a'), work('a')];
    await acquireAll(limit, all);

    await limit.acquire(work('b').request);

    expect(all.map(({ state }) => state.isEvicted)).toEqual([true, false]);
  });

  it('ignores the release of work that was evicted', async () => {
    const limit = new ConcurrencyLimit({ capacity: 2, maxPerHolder: 2, what: 'uploads' });
    const [releaseEvicted] = await acquireAll(limit, [work('a'), work('a')]);
    await limit.acquire(work('b').request);
    releaseEvicted!();

    expect(limit.use().active).toBe(2);
  });

  it('does not evict the only work of a holder', async () => {
    const limit = new ConcurrencyLimit({ capacity: 2, what: 'uploads' });
    const all = [work('a'), work('b')];
    await acquireAll(limit, all);

    await expect(limit.acquire(work('c').request)).rejects.toMatchObject(unavailable);

    expect(all.map(({ state }) => state.isEvicted)).toEqual([false, false]);
  });

  it('does not evict for a holder that has a permit already', async () => {
    const limit = new ConcurrencyLimit({ capacity: 4, maxPerHolder: 3, what: 'uploads' });
    const all = [work('a'), work('a'), work('a'), work('b')];
    await acquireAll(limit, all);

    await expect(limit.acquire(work('b').request)).rejects.toMatchObject(unavailable);

    expect(all.map(({ state }) => state.isEvicted)).toEqual([false, false, false, false]);
  });

  it('does not evict work that cannot be evicted', async () => {
    const limit = new ConcurrencyLimit({ capacity: 2, maxPerHolder: 2, what: 'runs' });
    await acquireAll(limit, [{ request: { holder: 'a' } }, { request: { holder: 'a' } }]);

    await expect(limit.acquire({ holder: 'b' })).rejects.toMatchObject(unavailable);
  });

  it('evicts for another group also when each holder of the largest group has one permit', async () => {
    const limit = new ConcurrencyLimit({ capacity: 4, what: 'uploads' });
    const all = ['a', 'b', 'c', 'd'].map((partner, at) => work(`key 1 ${partner}`, 4 - at, 'key 1'));
    await acquireAll(limit, all);

    await limit.acquire(work('key 2 a', 0, 'key 2').request);

    expect(all.map(({ state }) => state.isEvicted)).toEqual([false, false, false, true]);
  });

  it('evicts, in the largest group, from its largest holder', async () => {
    const limit = new ConcurrencyLimit({ capacity: 4, what: 'uploads' });
    const all = [
      work('key 1 a', 1, 'key 1'),
      work('key 1 b', 2, 'key 1'),
      work('key 1 b', 3, 'key 1'),
      work('c', 0),
    ];
    await acquireAll(limit, all);

    await limit.acquire(work('d').request);

    expect(all.map(({ state }) => state.isEvicted)).toEqual([false, true, false, false]);
  });

  it('does not evict for another holder of a group that has each of its permits under another holder', async () => {
    const limit = new ConcurrencyLimit({ capacity: 2, what: 'uploads' });
    const all = [work('key 1 a', 0, 'key 1'), work('key 1 b', 0, 'key 1')];
    await acquireAll(limit, all);

    await expect(limit.acquire(work('key 1 c', 0, 'key 1').request)).rejects.toMatchObject(unavailable);
  });

  it.each([
    ['there are free permits', [['a', 'a']], 'a', true],
    [
      'the holder has its share',
      [
        ['a', 'a'],
        ['a', 'a'],
      ],
      'a',
      false,
    ],
    [
      'another one has two',
      [
        ['a', 'a'],
        ['a', 'a'],
        ['b', 'b'],
        ['b', 'b'],
      ],
      'c',
      true,
    ],
    [
      'each holder has one',
      [
        ['a', 'a'],
        ['b', 'b'],
        ['c', 'c'],
        ['d', 'd'],
      ],
      'e',
      false,
    ],
    [
      'a group has two',
      [
        ['k1', 'k'],
        ['k2', 'k'],
        ['c', 'c'],
        ['d', 'd'],
      ],
      'e',
      true,
    ],
    [
      'a holder of the group has two',
      [
        ['k1', 'k'],
        ['k1', 'k'],
        ['k2', 'k'],
        ['d', 'd'],
      ],
      'k',
      true,
    ],
    [
      'each holder has one, and the group some',
      [
        ['k1', 'k'],
        ['k2', 'k'],
        ['k3', 'k'],
        ['d', 'd'],
      ],
      'k',
      false,
    ],
  ])('knows whether there is room for a group when %s', async (_when, held, group, hasRoom) => {
    const limit = new ConcurrencyLimit({ capacity: 4, what: 'uploads' });
    for (const [holder, ofGroup] of held) await limit.acquire(work(holder!, 0, ofGroup).request);

    const require = () => limit.requireRoom(group);

    if (hasRoom) expect(require).not.toThrow();
    else expect(require).toThrow(expect.objectContaining(unavailable));
  });

  it('releases the permit when the work of run has ended or failed', async () => {
    const limit = new ConcurrencyLimit({ capacity: 1, what: 'uploads' });

    expect(await limit.run({ holder: 'a' }, () => Promise.resolve('done'))).toBe('done');
    await expect(limit.run({ holder: 'a' }, () => Promise.reject(new Error('no')))).rejects.toThrow('no');

    expect(limit.use().active).toBe(0);
  });
});

describe('with waiters', () => {
  it('grants permits round-robin to the holders that wait', async () => {
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

  it('displaces the newest waiter of the holder with most for a holder without one', async () => {
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

  it('ends the wait with the reason of an aborted signal, and keeps the permit for the next one', async () => {
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

it('exceeds neither limit nor share, and leaves no permit unused that a waiter may have, whatever happens', async () => {
  const step = fc.oneof(
    fc.record({ acquire: fc.constantFrom('a', 'b', 'c', 'd'), evictable: fc.boolean() }),
    fc.record({ release: fc.nat(20) }),
    fc.record({ abort: fc.nat(20) }),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 5 }),
      fc.nat(5),
      fc.array(step),
      async (capacity, max, steps) => {
        const limit = new ConcurrencyLimit({ capacity, maxWaiting: max, what: 'runs' });
        const share = Math.max(1, Math.floor(capacity / 2));
        const held: { holder: string; release: Release }[] = [];
        const waiting: { holder: string; cancel: AbortController }[] = [];
        for (const each of steps) {
          if ('acquire' in each) {
            const cancel = new AbortController();
            const waiter = { holder: each.acquire, cancel };
            const permit: { holder: string; release: Release } = {
              holder: each.acquire,
              release: () => undefined,
            };
            const eviction = { evict: () => void held.splice(held.indexOf(permit), 1), progress: () => 0 };
            waiting.push(waiter);
            limit
              .acquire({
                holder: each.acquire,
                signal: cancel.signal,
                eviction: each.evictable ? eviction : undefined,
              })
              .then(
                (release) => held.push(Object.assign(permit, { release })),
                () => undefined,
              )
              .finally(() => waiting.splice(waiting.indexOf(waiter), 1));
          } else if ('release' in each) held.splice(each.release, 1)[0]?.release();
          else waiting[each.abort]?.cancel.abort();
          await settled();

          const holders = held.map(({ holder }) => holder);
          const heldBy = (name: string) => holders.filter((holder) => holder === name).length;
          expect(limit.use()).toEqual({ active: held.length, waiting: waiting.length });
          expect(held.length).toBeLessThanOrEqual(capacity);
          expect(waiting.length).toBeLessThanOrEqual(max);
          for (const holder of holders) expect(heldBy(holder)).toBeLessThanOrEqual(share);
          if (held.length < capacity) for (const { holder } of waiting) expect(heldBy(holder)).toBe(share);
        }
      },
    ),
  );
});
