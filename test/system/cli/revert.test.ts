import { runFeedCommand } from '../../support/commands';
import { startService, type ServiceProcess } from '../../support/process';

let service: ServiceProcess;
beforeAll(async () => {
  service = await startService();
});

const feed = (...args: string[]) =>
  runFeedCommand(args, { CATALOG_URL: service.url!, DATA_DIR: service.dataDir });
const header = 'sku,product_name,price\n';

describe('npm run feed -- changes', () => {
  it('shows what a run has changed, in pages', async () => {
    await service.api.loadFeed(`${header}A,Tent,5\nB,Lamp,7\n`, 'Changes');
    const { jobId, feedId } = await service.api.loadFeed(`${header}A,Tent,6\nB,Lamp,8\n`, 'Changes');

    const { code, stdout } = await feed('changes', jobId, '--run', '1', '--limit', '1');

    expect(code).toBe(0);
    expect(stdout).toContain(`Run 1 (load) of job ${jobId}, feed ${feedId}: completed.\n`);
    expect(stdout).toMatch(/\nupdated +2\n/);
    expect(stdout).toMatch(/\n +A +update +price: 5 -> 6\n/);
    const [, cursor] = /\nMore: --cursor (PR\d+)\n/.exec(stdout)!;
    const next = await feed('changes', jobId, '--run', '1', '--cursor', cursor!);
    expect(next.stdout).toMatch(/\n +B +update +price: 7 -> 8\n/);
    expect(next.stdout).not.toContain('More:');
    const json = await feed('changes', jobId, '--run', '1', '--json');
    expect(JSON.parse(json.stdout)).toEqual((await service.api.get(`/jobs/${jobId}/changes?run=1`)).body);
  });

  it('needs the number of the run, and exits with 1 for an unknown one', async () => {
    const { jobId } = await service.api.loadFeed(`${header}A,Tent,5\n`, 'Unknown run');

    expect(await feed('changes', jobId)).toMatchObject({ code: 2, stderr: expect.stringContaining('--run') });
    const unknown = await feed('changes', jobId, '--run', '7');
    expect([unknown.code, unknown.stderr]).toEqual([
      1,
      expect.stringContaining(`Job ${jobId} has no run 7.`),
    ]);
  });
});

describe('npm run feed -- revert', () => {
  it('shows with --dry-run what it would do, and undoes the run without', async () => {
    await service.api.loadFeed(`${header}A,Tent,5\n`, 'Reverts');
    const { jobId } = await service.api.loadFeed(`${header}A,Tent,6\nB,Lamp,8\n`, 'Reverts');

    const preview = await feed('revert', jobId, '--run', '1', '--dry-run');
    expect(preview.code).toBe(0);
    expect(preview.stdout).toContain(`A revert of run 1 of job ${jobId} would do this.\n`);
    expect(preview.stdout).toMatch(/\n +A +update +price: 6 -> 5\n +B +withdraw/);

    const undone = await feed('revert', jobId, '--run', '1');
    expect(undone.code).toBe(0);
    expect(undone.stdout).toContain(`Reverted run 1 of job ${jobId}, by run 2.\n`);
    expect(undone.stdout).toMatch(/\nupdated +1\n[^]*\nwithdrawn +1\n/);
    const { body } = await service.api.get('/products?partner_name=Reverts');
    expect(body.items).toMatchObject([{ sku: 'A', price: 5 }]);

    const again = await feed('revert', jobId, '--run', '1');
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('was already reverted by run 2')]);
    const redone = await feed('revert', jobId, '--run', '2', '--json');
    expect(JSON.parse(redone.stdout)).toMatchObject({ reverts_run: 2, run: 3, status: 'completed' });
  });

  it('shows conflicts with both values, and leaves them alone with --skip-conflicts', async () => {
    await service.api.loadFeed(`${header}A,Tent,5\nB,Lamp,7\n`, 'Conflicts');
    const { jobId } = await service.api.loadFeed(`${header}A,Tent,6\nB,Lamp,8\n`, 'Conflicts');
    await service.api.loadFeed(`${header}B,Lamp,9\n`, 'Conflicts');

    const preview = await feed('revert', jobId, '--run', '1', '--dry-run');
    expect(preview.code).toBe(1);
    expect(preview.stdout).toMatch(
      /\nConflicts:\n[^]*PR\d+ +B +feed_id: FD\d+, price: 9 -> feed_id: FD\d+, price: 7\n/,
    );
    const refused = await feed('revert', jobId, '--run', '1');
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(/1 product was changed since run 1\.[^]* with --skip-conflicts\./),
    ]);

    const undone = await feed('revert', jobId, '--run', '1', '--skip-conflicts');
    expect([undone.code, undone.stdout]).toEqual([
      0,
      expect.stringMatching(/\nupdated +1\n[^]*\nskipped +1\n/),
    ]);
  });
});
