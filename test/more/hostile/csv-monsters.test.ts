import { readFileSync } from 'node:fs';
import type { ApiClient } from '../../support/api-client';
import { manyProducts } from '../../support/catalog';
import { meet, monsters } from '../../support/csv-monsters';
import { eventually } from '../../support/harness';
import { startUsedService } from '../../support/process';

function peakMegabytes(pid: number): number {
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))!;
  return (Number(kilobytes) * 1024) / 1e6;
}

/** Latency of the slowest request during `work`, in milliseconds. */
async function slowestDuring(api: ApiClient, work: () => Promise<unknown>): Promise<number> {
  let [slowest, ended] = [0, false];
  const working = work().finally(() => (ended = true));
  await eventually(
    'the work has ended',
    async () => {
      const asked = performance.now();
      expect((await api.get('/products')).status).toBe(200);
      slowest = Math.max(slowest, performance.now() - asked);
      return ended;
    },
    60,
  );
  await working;
  return slowest;
}

describe('a process that reads one CSV monster after the other', () => {
  it('stays small, and delays others less than ten times as long as a usual feed', async () => {
    const { api, pid } = await startUsedService();
    const well = manyProducts(10_000);
    const usual = await slowestDuring(api, () => api.loadFeed(well));

    for (const monster of monsters) {
      const slowest = await slowestDuring(api, () => meet(api, monster));

      // Delays by other load of the machine do not count.
      const times = slowest / Math.max(usual, 100);
      if (times >= 10) throw new Error(`${monster.what}: others waited ${times} times as long as usual`);
    }
    // One after the other, each leaves both heaps at their peak size.
    expect(peakMegabytes(pid)).toBeLessThan(300);
  });
});
