import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runFeedCommand } from '../../support/commands';
import { createTestFolder } from '../../support/harness';
import { startService, type ServiceProcess } from '../../support/process';

let service: ServiceProcess;
beforeAll(async () => {
  service = await startService();
});

const feed = (...args: string[]) =>
  runFeedCommand(args, { CATALOG_URL: service.url!, DATA_DIR: service.dataDir });

/** @returns its path */
function write(content: string): string {
  const path = join(createTestFolder(), 'feed.csv');
  writeFileSync(path, content);
  return path;
}

describe('npm run feed -- upload --mode replace', () => {
  const partner = ['--partner', 'Replaces'];
  const csvOf = (count: number) =>
    ['sku,product_name', ...Array.from({ length: count }, (_, at) => `S${at},Name`)].join('\n');
  const replace = (count: number, ...args: string[]) =>
    feed('upload', write(csvOf(count)), ...partner, '--mode', 'replace', ...args);

  it('shows what is withdrawn, and fails with the number to confirm, which `run` takes', async () => {
    expect((await replace(13, '--max-skipped-percent', '0')).code).toBe(0);
    expect((await replace(12)).stdout).toMatch(/\nwithdrawn +1\n/);

    const refused = await replace(1, '--json');

    expect(refused.code).toBe(1);
    const { job_id: refusedId, summary } = JSON.parse(refused.stdout) as { job_id: string; summary: object };
    expect(summary).toMatchObject({ would_withdraw: 11 });
    expect((await feed('plan', refusedId)).stdout).toMatch(/\n +S11 +withdraw\b/);
    const confirmed = await feed('run', refusedId, '--max-withdrawn', '11');
    expect([confirmed.code, confirmed.stdout]).toEqual([0, expect.stringMatching(/\nwithdrawn +11\n/)]);
  });

  it('says that it withdraws nothing because of rows that cannot be split, and its plan where they are', async () => {
    const misquoted = write(`${csvOf(1)}\n"S1"x,Name\n`);
    const said = 'No product is withdrawn, because rows cannot be split into cells and may name any product.';

    const { stdout } = await feed('upload', misquoted, '--partner', 'Misquotes', '--mode', 'replace');

    expect(stdout).toContain(`\n${said}\n`);
    const [jobId] = /JV\d+/.exec(stdout)!;
    expect((await feed('plan', jobId)).stdout).toContain(`\n${said} Lines: 3\n`);
  });

  it('refuses an older feed unless --allow-older confirms it', async () => {
    const older = await service.api.uploadFeed(csvOf(2), 'Older', { mode: 'replace', collection: 'winter' });
    const args = ['--partner', 'Older', '--mode', 'replace', '--collection', 'winter'];
    await feed('upload', write(csvOf(3)), ...args);

    const refused = await feed('run', older.jobId);

    expect([refused.code, refused.stdout]).toEqual([1, expect.stringContaining('A newer feed (FD')]);
    expect((await feed('run', older.jobId, '--allow-older')).code).toBe(0);
  });

  it('exits with 1 when the service refuses an option', async () => {
    const { code, stderr } = await feed('upload', write(csvOf(1)), ...partner, '--mode', 'merge');

    expect([code, stderr]).toEqual([1, expect.stringContaining("'upsert', 'replace' or 'update'")]);
  });
});
