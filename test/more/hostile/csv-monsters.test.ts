import { readFileSync } from 'node:fs';
import type { ApiClient } from '../../support/api-client';
import { manyProducts } from '../../support/catalog';
import { meet, monsters } from '../../support/csv-monsters';
import { eventually } from '../../support/harness';
import { startUsedService } from '../../support/process';

/** The most memory that the process has ever had, in MB. */
function peakMegabytes(pid: number): number {
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))!;
  return (Number(kilobytes) * 1024) / 1e6;
}

/** How long the slowest request had to wait while `work` went on, in milliseconds. */
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

describe('a process that meets one CSV monster after the other', () => {
  it('stays small, and keeps others waiting less than ten times as long as a usual feed', async () => {
    const { api, pid } = await startUsedService();
    const well = manyProducts(10_000);
    const usual = await slowestDuring(api, () => api.loadFeed(well));

    for (const monster of monsters) {
      const slowest = await slowestDuring(api, () => meet(api, monster));

      // A machine that does something else for a moment is none of its doing.
      const times = slowest / Math.max(usual, 100);
      if (times >= 10) throw new Error(`${monster.what}: others waited ${times} times as long as usual`);
    }
    // One after the other they leave both heaps as large as each needed at its worst.
    expect(peakMegabytes(pid)).toBeLessThan(300);
  });
});
