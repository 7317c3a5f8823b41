import { readFileSync } from 'node:fs';
import type { ApiClient, ApiResponse } from '../../support/api-client';
import { manyProducts } from '../../support/catalog';
import { eventually } from '../../support/harness';
import { createTestDatabase, databaseUrl } from '../../support/databases';
import { startService } from '../../support/process';
import { testKey } from '../../support/service';

const rows = 100_000;

/** Sends requests one after the other during `work`. @returns the latency of the slowest, as a share of the work's duration */
async function askDuring<T>(work: Promise<T>, api: ApiClient, paths: string[]) {
  const startedAt = performance.now();
  let slowest = 0;
  const statuses = new Set<number>();
  const end = new AbortController();
  void Promise.allSettled([work]).then(() => end.abort());
  let rounds = 0;
  const ask = async () => {
    rounds++;
    for (const path of paths) {
      const asked = performance.now();
      statuses.add((await api.get(path)).status);
      slowest = Math.max(slowest, performance.now() - asked);
    }
    return end.signal.aborted;
  };
  await eventually('the work has ended', ask, 60);
  const duration = performance.now() - startedAt;
  return { result: await work, slowestShare: slowest / duration, statuses, rounds };
}

function peakMegabytes(pid: number): number {
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))!;
  return (Number(kilobytes) * 1024) / 1e6;
}

describe(`while a feed of ${rows} rows is uploaded and run`, () => {
  it('no other request waits for its end, and the process stays below 200 MB', async () => {
    const { address } = await createTestDatabase();
    const service = await startService({ env: { DATABASE_URL: databaseUrl(address), API_KEYS: testKey } });
    const { api } = service;
    const paths = ['/health', '/products', '/orders'];

    const upload = await askDuring(api.uploadFeed(manyProducts(rows)), api, paths);
    const run = await askDuring(api.post(`/jobs/${upload.result.jobId}/run`), api, paths);

    expect(run.result.body).toMatchObject({ status: 'completed', summary: { inserted: rows } });
    for (const { statuses } of [upload, run]) expect(statuses).toEqual(new Set([200]));
    expect(run.slowestShare).toBeLessThan(0.5);
    // Enough of them to cover every phase of the run.
    expect(run.rounds).toBeGreaterThan(20);
    expect(peakMegabytes(service.pid)).toBeLessThan(200);
  });
});

describe('64 concurrent requests of one kind and key', () => {
  it('are all served, with the default settings, and the process stays below 256 MB', async () => {
    const { address } = await createTestDatabase();
    const service = await startService({ env: { DATABASE_URL: databaseUrl(address), API_KEYS: testKey } });
    const { api } = service;
    const csv = `${manyProducts(500)}no price,,\n`;
    const { feedId, jobId } = await api.loadFeed(csv, 'Acme');
    const send: Record<string, () => Promise<ApiResponse>> = {
      upload: () => api.upload({ csv, partnerName: 'Acme' }),
      inspection: () => api.inspect({ csv, partnerName: 'Acme' }),
      'raw file': () => api.get(`/feeds/${feedId}/raw`),
      rejects: () => api.get(`/jobs/${jobId}/rejects.csv`),
      products: () => api.get('/partners/Acme/products.csv'),
    };

    // One kind after the other: 320 requests take a busy machine longer than any may wait.
    const statuses: Record<string, number[]> = {};
    for (const [kind, sendOne] of Object.entries(send)) {
      const responses = await Promise.all(Array.from({ length: 64 }, sendOne));
      statuses[kind] = [...new Set(responses.map(({ status }) => status))];
    }

    expect(statuses).toEqual({
      upload: [201],
      inspection: [200],
      'raw file': [200],
      rejects: [200],
      products: [200],
    });
    expect(peakMegabytes(service.pid)).toBeLessThan(256);
  });
});
