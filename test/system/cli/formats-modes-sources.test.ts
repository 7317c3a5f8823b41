import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runFeedCommand } from '../../support/commands';
import { createTestFolder, eventually } from '../../support/harness';
import { startUsedService, type ServiceProcess } from '../../support/process';
import { csv, startFeedServer } from '../../support/source-requests';

let service: ServiceProcess;
let env: Record<string, string>;
beforeAll(async () => {
  service = await startUsedService({ PRIVATE_ADDRESSES: 'on' });
  env = { CATALOG_URL: service.url!, DATA_DIR: service.dataDir };
});

function write(content: string, name = 'feed.csv'): string {
  const path = join(createTestFolder(), name);
  writeFileSync(path, content);
  return path;
}

const feed = (...args: string[]) => runFeedCommand(args, env);
const acme = ['--partner', 'Acme Outdoor'];
const header = 'sku,product_name,price\n';

const definition = {
  columns: {
    sku: { from: ['sku', 'Nr'] },
    product_name: { join: ['product_name', 'Farbe'], with: ' ' },
    currency: { value: 'EUR' },
  },
};

describe('npm run feed -- formats', () => {
  it('saves, shows, lists and deletes a format of a partner', async () => {
    const file = write(JSON.stringify(definition), 'format.json');

    const saved = await feed('formats', 'save', 'weekly', file, ...acme);
    const shown = await feed('formats', 'show', 'weekly', ...acme);
    const listed = await feed('formats', 'list', ...acme);
    const deleted = await feed('formats', 'delete', 'weekly', ...acme);
    const gone = await feed('formats', 'show', 'weekly', ...acme);

    expect([saved.code, saved.stdout]).toEqual([0, 'Format weekly of partner Acme Outdoor is saved.\n']);
    expect(JSON.parse(shown.stdout)).toEqual(definition);
    expect(listed.stdout).toMatch(
      /^format +partner +updated +encoding +delimiter +columns\nweekly +Acme Outdoor /,
    );
    expect(listed.stdout.replaceAll(/\s+/g, ' ')).toContain(
      'sku: sku or Nr; product_name: product_name + Farbe; currency: "EUR"',
    );
    expect([deleted.code, deleted.stdout]).toEqual([
      0,
      'Format weekly of partner Acme Outdoor is deleted.\n',
    ]);
    expect([gone.code, gone.stderr]).toEqual([
      1,
      expect.stringContaining('with 404 (format_not_found): Format not found.'),
    ]);
  });

  it('shows a built-in format, which can be saved under another name', async () => {
    const shown = await feed('formats', 'show', 'shopify');
    const saved = await feed('formats', 'save', 'ours', write(shown.stdout, 'ours.json'), '--json', ...acme);

    expect(JSON.parse(saved.stdout)).toMatchObject({
      format_name: 'ours',
      partner_name: 'Acme Outdoor',
      definition: JSON.parse(shown.stdout),
    });
    expect((await feed('formats', 'list', '--limit', '2')).stdout).toMatch(
      /\nMore: --cursor google-merchant\n$/,
    );
    expect(await feed('formats', 'show', 'unknown')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('There is no built-in format unknown.'),
    });
  });

  it('exits with 1 and the errors of a definition, and with 2 for a file that is not JSON', async () => {
    const wrong = write('{"columns":{"sku":{}},"delimitr":";"}', 'wrong.json');

    const refused = await feed('formats', 'save', 'wrong', wrong, ...acme);
    const unreadable = await feed('formats', 'save', 'wrong', write('delimiter: ;', 'a.yaml'), ...acme);
    const missing = await feed('formats', 'save', 'wrong', 'does-not-exist.json', ...acme);

    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('delimitr: Extra inputs are not permitted; columns.sku: ');
    expect([unreadable.code, unreadable.stderr]).toEqual([2, expect.stringContaining('is not JSON')]);
    expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining('cannot be read')]);
  });
});

describe('npm run feed -- upload --format', () => {
  it('uploads by a format', async () => {
    const csv = 'id,title,sku,product_name\nA,Tent,A,Tent\n';

    const { code, stdout } = await feed(
      ...['upload', write(csv, 'feed.tsv'), '--no-run', '--format', 'google-merchant', '--json'],
      ...acme,
    );

    expect(code).toBe(0);
    const { feed_id } = JSON.parse(stdout) as { feed_id: string };
    expect((await service.api.get(`/feeds/${feed_id}`)).body).toMatchObject({
      file_name: 'feed.tsv',
      format_name: 'google-merchant',
    });
  });
});

describe('npm run feed -- upload --mode replace', () => {
  const partner = ['--partner', 'Replaces'];
  const csvOf = (count: number) =>
    ['sku,product_name', ...Array.from({ length: count }, (_, at) => `S${at},Name`)].join('\n');
  const replace = (count: number, ...args: string[]) =>
    feed('upload', write(csvOf(count)), ...partner, '--mode', 'replace', ...args);

  it('lists the withdrawals, and fails with the number to confirm, which `run` accepts', async () => {
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

  it('reports that it withdraws nothing because of rows that cannot be split, and its plan lists these', async () => {
    const misquoted = write(`${csvOf(1)}\n"S1"x,Name\n`);
    const said = 'No product is withdrawn, because rows cannot be split into cells and may name any product.';

    const { stdout } = await feed('upload', misquoted, '--partner', 'Misquotes', '--mode', 'replace');

    expect(stdout).toContain(`\n${said}\n`);
    const [jobId] = /JV\d+/.exec(stdout)!;
    expect((await feed('plan', jobId)).stdout).toContain(`\n${said} Lines: 3\n`);
  });

  it('rejects an older feed unless --allow-older confirms it', async () => {
    const older = await service.api.uploadFeed(csvOf(2), 'Older', { mode: 'replace', collection: 'winter' });
    const args = ['--partner', 'Older', '--mode', 'replace', '--collection', 'winter'];
    await feed('upload', write(csvOf(3)), ...args);

    const refused = await feed('run', older.jobId);

    expect([refused.code, refused.stdout]).toEqual([1, expect.stringContaining('A newer feed (FD')]);
    expect((await feed('run', older.jobId, '--allow-older')).code).toBe(0);
  });

  it('exits with 1 when the service rejects an option', async () => {
    const { code, stderr } = await feed('upload', write(csvOf(1)), ...partner, '--mode', 'merge');

    expect([code, stderr]).toEqual([1, expect.stringContaining("'upsert', 'replace' or 'update'")]);
  });
});

describe('npm run feed -- changes', () => {
  it('lists the changes of a run, in pages', async () => {
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

  it('requires the number of the run, and exits with 1 for an unknown one', async () => {
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
  it('lists the changes with --dry-run, and reverts the run without it', async () => {
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

  it('lists conflicts with both values, and skips them with --skip-conflicts', async () => {
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

describe('npm run feed -- sources', () => {
  it('adds, fetches, lists and deletes a source, and shows no secret', async () => {
    const feeds = await startFeedServer((_request, response) => void response.end(csv));
    const file = join(createTestFolder(), 'source.json');
    const source = { url: `${feeds.url}/products.csv`, headers: { 'x-token': 'tok-3a7bd3e2360a' } };
    writeFileSync(file, JSON.stringify(source));

    const added = await feed('sources', 'add', 'daily', file, ...acme);
    const fetched = await feed('sources', 'fetch', 'daily', ...acme);
    const history = await eventually('the fetch has ended', async () => {
      const shown = await feed('sources', 'history', 'daily', ...acme);
      return /completed/.test(shown.stdout) && shown;
    });
    const listed = await feed('sources', 'list', '--json');
    const deleted = await feed('sources', 'delete', 'daily', ...acme);

    expect([added.code, added.stdout]).toEqual([0, 'Source daily of partner Acme Outdoor is stored.\n']);
    expect([fetched.code, fetched.stdout]).toEqual([
      0,
      expect.stringMatching(/^Fetch 1 of source daily is queued\. /),
    ]);
    expect(history.stdout).toMatch(/^fetch +status +requested +attempts +feed +failure\n1 +completed /);
    expect(JSON.parse(listed.stdout).items[0].definition.headers).toEqual({ 'x-token': '********' });
    expect(feeds.requests[0]!.headers['x-token']).toBe('tok-3a7bd3e2360a');
    expect([deleted.code, deleted.stdout]).toEqual([0, 'Source daily of partner Acme Outdoor is deleted.\n']);
    expect((await feed('sources', 'list')).stdout).toBe('There are no sources.\n');
  });
});
