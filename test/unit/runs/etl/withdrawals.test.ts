import { FeedFailure, type RunCounters } from '../../../../src/runs/etl/run-result';
import type { StagedFeed } from '../../../../src/runs/etl/staging';
import { checkSkipped, checkWithdrawals } from '../../../../src/runs/etl/withdrawals';

const counters = (other: Partial<RunCounters>): RunCounters => ({
  processed: 100,
  inserted: 0,
  updated: 0,
  unchanged: 0,
  skipped: 0,
  withdrawn: 0,
  restored: 0,
  ...other,
});

describe('the limit of skipped rows', () => {
  const check = (maxSkippedPercent: number | null, skipped: number, processed: number) => () =>
    checkSkipped({ maxSkippedPercent }, counters({ skipped, processed }));

  it.each([
    [0.7, 77, 11_000],
    [1.1, 11, 1_000],
    [33.3, 333, 1_000],
    [0, 0, 10],
    [0, 0, 0],
    [100, 5, 5],
    [null, 5, 5],
  ])('of %p %% allows %p of %p', (max, skipped, processed) => {
    expect(check(max, skipped, processed)).not.toThrow();
  });

  it.each([
    [0.7, 78, 11_000],
    [33.3, 1, 3],
    [0, 1, 1_000_000_000],
    [99.9, 5, 5],
  ])('of %p %% rejects %p of %p', (max, skipped, processed) => {
    expect(check(max, skipped, processed)).toThrow(FeedFailure);
  });

  it('allows exactly the limit, with one decimal', () => {
    for (let tenths = 1; tenths <= 1000; tenths++) {
      for (const thousands of [1, 3, 7, 11])
        expect(check(tenths / 10, tenths * thousands, 1000 * thousands)).not.toThrow();
    }
  });
});

describe('the limit of withdrawals', () => {
  /** Checks a run of a collection with `active` products. @returns how often they were counted */
  function check(active: number, found: Partial<RunCounters>, maxWithdrawn: number | null = null) {
    let counts = 0;
    const count = () => {
      counts++;
      return Promise.resolve(active);
    };
    const feed = { partnerId: 1, collection: 'main', maxWithdrawn, maxWithdrawnPercent: null } as StagedFeed;
    const checked = checkWithdrawals(feed, counters(found), count);
    return checked.then(() => counts);
  }

  it.each([
    [10, 20, null],
    [0, 10, null],
    [30, 20, 30],
  ])('does not count the active products for %p withdrawals', async (withdrawn, active, max) => {
    expect(await check(active, { withdrawn }, max)).toBe(0);
  });

  it('counts them if a feed of only skipped rows might leave none', async () => {
    expect(await check(11, { withdrawn: 10, skipped: 100 })).toBe(1);
    await expect(check(10, { withdrawn: 10, skipped: 100 })).rejects.toThrow('none would be left');
  });

  it('allows a fifth of them, and no more', async () => {
    expect(await check(55, { withdrawn: 11 })).toBe(1);
    await expect(check(54, { withdrawn: 11 })).rejects.toThrow('at most 10 may be withdrawn');
    await expect(check(54, { withdrawn: 2 }, 1)).rejects.toThrow('at most 1 may be withdrawn');
  });
});
