import { adminProgram } from '../../../src/operation/admin/program';
import { UsageError } from '../../../src/base/command-line';
import { runAdmin } from '../../support/commands';
import { databaseUrl } from '../../support/databases';
import { startTestService, type TestService } from '../../support/service';
import { filesBelow } from '../../support/stored-uploads';

const csv = 'sku,product_name,price,currency\nA,Tent,5,EUR\nB,Lamp,NA,EUR\n';

const settingsOf = ({ address, dataDir }: TestService) => ({
  DATABASE_URL: databaseUrl(address),
  DATA_DIR: dataDir,
});

/** The cells of a table, without the header. */
const cellsOf = (stdout: string) =>
  stdout
    .trimEnd()
    .split('\n')
    .slice(1)
    .map((line) => line.split(/ {2,}/));

describe('the command that prunes', () => {
  it('lists in a dry run what it would remove, then removes it', async () => {
    const service = await startTestService();
    await service.api.loadFeed(csv);
    await service.api.loadFeed(`${csv}C,Mat,1,EUR\n`);
    await service
      .db('feeds')
      .where('feed_id', 1)
      .update({ uploaded_at: new Date('2026-01-01') });
    await service
      .db('validation_jobs')
      .where('job_id', 1)
      .update({ finished_at: new Date('2026-01-01') });
    const env = { ...settingsOf(service), RAW_FILE_RETENTION_DAYS: '30' };
    const removed = [
      ['row issues', '90 days', '1', '1', expect.stringMatching(/^\d{3}$/)],
      ['raw files', '30 days', '1', '1', String(csv.length)],
      ['versions of products', '400 days', '0', '0'],
    ];

    const dry = await runAdmin(env, 'prune', '--dry-run');
    expect(dry).toMatchObject({ code: 0, stderr: '' });
    expect(cellsOf(dry.stdout)).toEqual([...removed, ['Nothing was removed: this was a dry run.']]);
    expect(await filesBelow(service.dataDir)).toHaveLength(2);
    const real = await runAdmin(env, 'prune');
    expect(real).toMatchObject({ code: 0, stderr: '' });
    expect(cellsOf(real.stdout)).toEqual(removed);
    expect(await filesBelow(service.dataDir)).toHaveLength(1);
    expect(cellsOf((await runAdmin(settingsOf(service), 'prune')).stdout)).toEqual([
      ['row issues', '90 days', '0', '0', '0'],
      ['raw files', 'ever', '0', '0', '0'],
      ['versions of products', '400 days', '0', '0'],
    ]);
  });

  it('completes a dry run without the object store', async () => {
    const service = await startTestService();
    const env = {
      ...settingsOf(service),
      OBJECT_STORE: 's3',
      S3_BUCKET: 'raw',
      S3_ENDPOINT: 'http://127.0.0.1:9',
    };

    const dry = await runAdmin(env, 'prune', '--dry-run');

    expect(dry).toMatchObject({ code: 0, stderr: '' });
  });

  it('reports that another process prunes', async () => {
    const service = await startTestService();
    await service.db('retention').update({ leased_until: new Date('2099-01-01') });

    expect(await runAdmin(settingsOf(service), 'prune')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'Another process is pruning now: try again in a minute.\n',
    });
  });
});

describe('the command that removes a partner', () => {
  it('previews, and removes everything except the orders with --apply', async () => {
    const service = await startTestService();
    await service.api.loadFeed(csv, 'Leaving');
    const items = [{ product_id: 'PR00001', quantity: 1 }];
    await service.api.post('/orders', { partner_name: 'Leaving', items });
    const remove = (...args: string[]) => runAdmin(settingsOf(service), 'partners', 'remove', ...args);
    const rows = (what: string) => [
      ['products', '1', what],
      ['versions of products', '0', what],
      ['feeds', '1', what],
      ['row issues', '1', what],
      ['raw files', '1', String(csv.length), what],
      ['formats', '0', what],
      ['sources', '0', what],
      ['keys', '0', what],
      ['webhooks', '0', what],
      ['orders', '1', 'kept'],
    ];

    const preview = await remove('Leaving');
    expect(preview).toMatchObject({ code: 0, stderr: '' });
    expect(cellsOf(preview.stdout)).toEqual([
      ...rows('to be removed'),
      ['Nothing was changed: this was a preview. --apply removes.'],
    ]);
    const real = await remove('Leaving', '--apply');
    expect(real).toMatchObject({ code: 0, stderr: '' });
    expect(cellsOf(real.stdout)).toEqual(rows('removed'));
    expect(await filesBelow(service.dataDir)).toEqual([]);
    expect((await service.api.get('/orders/OR00001')).body.items).toMatchObject([
      { sku: 'A', unit_price: 5 },
    ]);
    expect(await remove('Leaving')).toEqual({ code: 1, stdout: '', stderr: 'Unknown partner: Leaving.\n' });
  });

  it('reports no removal when it is rejected', async () => {
    const service = await startTestService();
    const { jobId } = await service.api.uploadFeed(csv, 'Busy');
    await service.api.post(`/jobs/${jobId}/run`, undefined, { prefer: 'respond-async' });

    const refused = await runAdmin(settingsOf(service), 'partners', 'remove', 'Busy', '--apply');

    const stderr = expect.stringMatching(/^A run of the partner is queued or in progress: /) as string;
    expect(refused).toEqual({ code: 1, stdout: '', stderr });
  });
});

describe('the command that erases customer references', () => {
  it('erases them by order numbers, or by the reference', async () => {
    const service = await startTestService();
    await service.api.loadFeed(csv);
    for (const customer_reference of ['Jane Doe', 'Jane Doe', 'John Roe']) {
      const items = [{ product_id: 'PR00001', quantity: 1 }];
      await service.api.post('/orders', { partner_name: 'Acme', customer_reference, items });
    }
    const erase = (...args: string[]) => runAdmin(settingsOf(service), 'orders', 'erase-reference', ...args);
    const erased = (orders: string) => ({
      code: 0,
      stdout: `WHAT              ERASED\norders            ${orders}\nstored responses  0\n`,
      stderr: '',
    });

    expect(await erase('--reference', 'Jane Doe')).toEqual(erased('2'));
    expect(await erase('OR00003', 'OR00002')).toEqual(erased('1'));
    expect(await erase('OR00001', 'OR00099')).toEqual({
      ...erased('0'),
      code: 1,
      stderr: expect.stringContaining('There are no such orders: OR00099.') as string,
    });

    expect(await service.db('orders').pluck('customer_reference')).toEqual([null, null, null]);
  });

  it.each([
    [[], 'Missing argument: ORDERS, or option --reference TEXT.'],
    [['OR00001', '--reference', 'x'], 'Only one of ORDERS and --reference TEXT can be used.'],
    [['1'], 'Wrong ORDERS: each must be one such as OR00001.'],
  ])('rejects the arguments %j', async (args, message) => {
    const running = adminProgram().runWith(['orders', 'erase-reference', ...args]);

    await expect(running).rejects.toThrow(UsageError);
    await expect(running).rejects.toThrow(message);
  });
});
