import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { adminProgram } from '../../../src/operation/admin/program';
import { rollUpSales } from '../../../src/sales/analytics/sales-rollup';
import { UsageError } from '../../../src/base/command-line';
import { sell } from '../../support/sales';
import { runAdmin } from '../../support/commands';
import { createTestDatabase, databaseUrl } from '../../support/databases';
import { createTestFolder, project } from '../../support/harness';
import { databaseProcesses, startUsedService, type ServiceProcess } from '../../support/process';

describe('npm run admin', () => {
  it.concurrent('lists its groups of commands with --help, with exit code 0', async () => {
    const { code, stdout, stderr } = await runAdmin({}, '--help');

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^Usage: npm run --silent admin -- \[options\] \[command\]\n/);
    for (const group of ['keys', 'webhooks', 'objects', 'orders', 'partners', 'prune', 'sales', 'secrets'])
      expect(stdout).toContain(`\n  ${group} `);
  });

  it.concurrent.each([[[]], [['keys']]])(
    'prints its help to standard error without a command: %j',
    async (args) => {
      const { code, stdout, stderr } = await runAdmin({}, ...args);

      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toMatch(/^Usage: npm run --silent admin --/);
    },
  );

  it.concurrent.each([
    ['keys', ['list']],
    ['clean-objects', ['--dry-run']],
  ])('has the script %s as an alias: %j', async (script, args) => {
    const dataDir = createTestFolder();
    const env = { PATH: process.env.PATH, DATA_DIR: dataDir };
    const options = { cwd: project, env };

    await expect(
      promisify(execFile)('npm', ['run', '--silent', script, '--', ...args], options),
    ).rejects.toMatchObject({
      code: 1,
      stderr: `Wrong setting DATA_DIR: there is no database in ${dataDir}.\n`,
    });
  });
});

const csv = 'sku,product_name\nTENT-2,Two-person tent\n';
const long = new Date('2026-01-01T00:00:00Z');

const cleanObjects = (env: Record<string, string>, ...args: string[]) =>
  runAdmin(env, 'objects', 'clean', ...args);

/** Leaves a staged file, like a killed process. @returns its path */
function leaveBehind({ dataDir }: ServiceProcess): string {
  const file = join(dataDir, 'objects/local/staging/0f8fad5b-d9cb-469f-a165-70867728950e');
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, csv);
  utimesSync(file, long, long);
  return file;
}

describe('the command that cleans the object store', () => {
  it.concurrent('removes orphaned files while the service runs, and while it is stopped', async () => {
    const service = await startUsedService();
    const { jobId } = await service.api.loadFeed(csv);
    const env = { DATA_DIR: service.dataDir };

    const file = leaveBehind(service);
    const dry = await cleanObjects(env, '--dry-run');
    expect(dry).toMatchObject({ code: 0, stderr: '' });
    expect(dry.stdout).toMatch(/^would remove staging\/0f8f\S+ \(40 bytes, 2026-01-01T00:00:00.000Z\)\n/);
    expect(existsSync(file)).toBe(true);
    const real = await cleanObjects(env);
    expect(real).toMatchObject({ code: 0, stderr: '' });
    expect(real.stdout).toMatch(/^removing staging\/0f8f.*\nObjects: 2\. Orphaned: 1; removed: 1;.*\n$/);
    expect(existsSync(file)).toBe(false);
    expect((await service.api.post(`/jobs/${jobId}/run`)).body.summary).toMatchObject({ unchanged: 1 });

    await service.stop();
    leaveBehind(service);
    expect(await cleanObjects(env)).toMatchObject({ code: 0, stderr: '' });
    expect(existsSync(file)).toBe(false);
    expect(databaseProcesses(service.dataDir)).toEqual([]);
  });

  describe('with a store that is not known to be of its database', () => {
    const orphan = 'raw/partners/acme/feeds/FD00002/feed.csv';
    const noOwner =
      'The bucket local does not say to which database it belongs. If no other database uses it: ' +
      'npm run --silent admin -- objects clean --adopt.\n';

    /** The store of a database with one feed, and an old file that looks like an orphan to a database with higher numbers. */
    function storeOfProduction() {
      const dataDir = createTestFolder();
      const file = join(dataDir, 'objects/local', orphan);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, csv);
      utimesSync(file, long, long);
      return { dataDir, isThere: () => existsSync(file) };
    }

    async function databaseWithHigherNumbers() {
      const { db, address } = await createTestDatabase();
      await db.raw("select setval(pg_get_serial_sequence('feeds', 'feed_id'), 9)");
      return databaseUrl(address);
    }

    it.concurrent('removes nothing without an identity, and shows in a dry run what it would', async () => {
      const { dataDir, isThere } = storeOfProduction();
      const env = { DATABASE_URL: await databaseWithHigherNumbers(), DATA_DIR: dataDir };

      expect(await cleanObjects(env)).toEqual({ code: 1, stdout: '', stderr: noOwner });
      const dry = await cleanObjects(env, '--dry-run');
      expect(dry).toMatchObject({ code: 0, stderr: noOwner });
      expect(dry.stdout).toContain(`would remove ${orphan}`);
      expect(isThere()).toBe(true);
    });

    it.concurrent('removes nothing that belongs to another database with lower numbers', async () => {
      const { dataDir, isThere } = storeOfProduction();
      const { address } = await createTestDatabase();
      const adopted = await cleanObjects(
        { DATABASE_URL: databaseUrl(address), DATA_DIR: dataDir },
        '--adopt',
      );
      expect(adopted).toMatchObject({ code: 0, stderr: '' });
      expect(adopted.stdout).toMatch(/^The bucket local now belongs to this database\.\nObjects: 0\. /);
      const env = { DATABASE_URL: await databaseWithHigherNumbers(), DATA_DIR: dataDir };

      const refused = await cleanObjects(env);

      expect(refused).toMatchObject({ code: 1, stdout: '' });
      expect(refused.stderr).toMatch(
        new RegExp(
          `^The bucket local belongs to another database \\("${address.database}", since 20.*Z\\)\\. .*--adopt\\.\n$`,
        ),
      );
      expect(isThere()).toBe(true);
    });

    it.concurrent('removes orphans once it was told to adopt the store, and from then on', async () => {
      const { dataDir, isThere } = storeOfProduction();
      const env = { DATABASE_URL: await databaseWithHigherNumbers(), DATA_DIR: dataDir };

      const adopted = await cleanObjects(env, '--adopt');

      expect(adopted).toMatchObject({ code: 0, stderr: '' });
      expect(adopted.stdout).toMatch(
        /^The bucket local now belongs to this database\.\nremoving raw\/.*\nObjects: 1\. /,
      );
      expect(isThere()).toBe(false);
      expect(await cleanObjects(env)).toMatchObject({ code: 0, stderr: '' });
    });

    it.concurrent('adopts nothing in a dry run', async () => {
      expect(await cleanObjects({}, '--adopt', '--dry-run')).toEqual({
        code: 2,
        stdout: '',
        stderr:
          'Only one of --dry-run and --adopt can be used.\nHelp: npm run --silent admin -- objects clean --help\n',
      });
    });
  });

  it.concurrent.each([
    ['a folder without data', () => ({ DATA_DIR: createTestFolder() }), 'Wrong setting DATA_DIR: '],
    ['a wrong setting', () => ({ PORT: 'x' }), 'Wrong setting PORT: '],
  ])('rejects %s with one line', async (_what, env, line) => {
    const { code, stdout, stderr } = await cleanObjects(env());

    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^\S.*\n$/);
    expect(stderr).toContain(line);
  });

  it.concurrent('rejects an unknown option with two lines and exit code 2', async () => {
    expect(await cleanObjects({}, '--force')).toEqual({
      code: 2,
      stdout: '',
      stderr: 'Unknown option: --force.\nHelp: npm run --silent admin -- objects clean --help\n',
    });
  });
});

const [composed, decomposed] = ['\u00c1cme', 'A\u0301cme'];
const figures =
  "0 feeds, 0 products, 0 products that both have (0 of them get the values of the merged partner's later feed), " +
  '1 orders, 0 keys, 0 webhooks\n';

describe('the command that merges partners', () => {
  it('previews merges, merges with --apply, and then finds no more names to merge', async () => {
    const { db, address } = await createTestDatabase();
    await db('partners').insert([{ partner_name: composed }, { partner_name: decomposed }]);
    await db('orders').insert({ partner_name: decomposed, currency: 'EUR', total_amount: '0' });
    const merge = (...args: string[]) =>
      runAdmin({ DATABASE_URL: databaseUrl(address) }, 'partners', 'merge', ...args);
    const line = `"A\\u{301}cme" into "\\u{c1}cme": ${figures}`;

    expect(await merge()).toEqual({
      code: 0,
      stdout: `${line}Nothing was changed: this was a preview. --apply merges.\n`,
      stderr: '',
    });
    expect(await db('partners').pluck('partner_name')).toHaveLength(2);
    expect(await merge('--apply')).toEqual({ code: 0, stdout: line, stderr: '' });
    expect(await db('partners').pluck('partner_name')).toEqual([composed]);
    expect(await merge('--apply')).toMatchObject({ stdout: 'All partner names are in NFC.\n' });
    expect(await merge(composed, 'Acme', '--apply')).toMatchObject({ code: 0 });
    expect(await db('orders').pluck('partner_name')).toEqual(['Acme']);
    expect(await merge('Acme')).toMatchObject({ code: 2 });
  });
});

describe('the command that records changes of products', () => {
  it('records a change of one partner, or of all, and rejects an unknown one', async () => {
    const { db, address } = await createTestDatabase();
    const rows = await db('partners')
      .insert([{ partner_name: 'Acme' }, { partner_name: 'Zebra' }])
      .returning<{ partner_id: number }[]>('partner_id');
    const [acme, zebra] = rows.map(({ partner_id }) => partner_id);
    const changed = (...args: string[]) =>
      runAdmin({ DATABASE_URL: databaseUrl(address) }, 'products', 'changed', ...args);
    const logged = () => db('manual_changes').orderBy('partner_id').pluck<number[]>('partner_id');

    expect(await changed('--partner', 'Acme')).toEqual({
      code: 0,
      stdout: 'Partners whose products are compared, indexed and counted again: 1.\n',
      stderr: '',
    });
    expect(await logged()).toEqual([acme]);
    expect(await db('search_backlog').pluck<number[]>('partner_id')).toEqual([acme]);

    expect(await changed()).toMatchObject({ code: 0, stdout: expect.stringContaining(': 2.') as unknown });
    expect(new Set(await logged())).toEqual(new Set([acme, zebra]));

    expect(await changed('--partner', 'Unknown')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'Unknown partner: Unknown.\n',
    });
  });
});

describe('the command that verifies and rebuilds the sales figures', () => {
  it('shows differences, rebuilds the sums, and enables triggers that a restore has disabled', async () => {
    const { db, address } = await createTestDatabase();
    const sales = (command: string) => runAdmin({ DATABASE_URL: databaseUrl(address) }, 'sales', command);
    await sell(db);
    await rollUpSales(db);
    const right = { code: 0, stdout: '', stderr: 'The sales figures agree with the orders.\n' };
    expect(await sales('verify')).toEqual(right);

    await db('sales_by_partner').update({ units_sold: 9 });
    await db.raw('alter table orders disable trigger all; alter table orders enable trigger all');

    const triggers = 'orders_note_delete, orders_note_truncate, orders_note_update, orders_stamp';
    const wrong = await sales('verify');
    expect(wrong).toMatchObject({
      code: 1,
      stderr:
        `Triggers that are not ENABLE ALWAYS: ${triggers}. sales rebuild enables them.\n` +
        'The sales figures differ from the orders: npm run --silent admin -- sales rebuild.\n',
    });
    expect(wrong.stdout.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      [
        'PARTNER',
        'PRODUCT',
        'PERIOD',
        'CURRENCY',
        'UNITS SHOWN',
        'UNITS ORDERED',
        'SALES SHOWN',
        'SALES ORDERED',
      ],
      ['Acme', '(all)', '(all)', 'EUR', '9', '3', '3.015', '3.015'],
      [''],
    ]);
    expect(await sales('rebuild')).toEqual({
      code: 0,
      stdout: wrong.stdout,
      stderr: `The sums are rebuilt. Wrong before: 1.\nTriggers set to ENABLE ALWAYS: ${triggers}.\n`,
    });
    expect(await sales('verify')).toEqual(right);
  });
});

const url = 'https://partner.example.org/events';
type Wrong = [what: string, args: string[], problem: string, privateAddresses?: 'on' | 'off'];
type Valid = [what: string, args: string[], privateAddresses?: 'on' | 'off'];

/** Runs the command without a database: a valid one fails for that reason. */
function run(args: string[], privateAddresses: 'on' | 'off' = 'off'): Promise<unknown> {
  process.env.DATA_DIR = createTestFolder();
  process.env.DATABASE_URL = '';
  process.env.PRIVATE_ADDRESSES = privateAddresses;
  return adminProgram().runWith(['webhooks', ...args]);
}

describe('npm run admin -- webhooks', () => {
  it.each<Wrong>([
    ['an unknown command', ['rotate'], 'Unknown command: rotate.'],
    ['no URL', ['create'], 'Missing argument: URL.'],
    ['an invalid URL', ['create', 'partner.example.org'], 'Wrong URL: it must be one such as'],
    ['a URL that is too long', ['create', `${url}/${'a'.repeat(2000)}`], 'Wrong URL: it must be one such as'],
    [
      'no TLS',
      ['create', 'http://partner.example.org/'],
      'Wrong URL: it must begin with https, or http with',
    ],
    [
      'another protocol',
      ['create', 'ftp://partner.example.org/'],
      'Wrong URL: it must begin with https',
      'on',
    ],
    [
      'a password',
      ['create', 'https://me:secret@partner.example.org/'],
      'Wrong URL: it must have no user name',
    ],
    ['a fragment', ['create', `${url}#here`], 'Wrong URL: it must have no fragment'],
    ['a private address', ['create', 'https://127.1/'], '127.0.0.1 is not a public address; see PRIVATE_'],
    ['a private IPv6 address', ['create', 'https://[::ffff:10.0.0.1]/'], 'is not a public address'],
    ['two URLs', ['create', url, url], 'Too many arguments.'],
    [
      'an unknown event',
      ['create', url, '--events', 'order.created,order.lost'],
      'Unknown event: order.lost.',
    ],
    ['no event', ['create', url, '--events', ''], "Unknown event: ''."],
    ['a missing number', ['disable'], 'Missing argument: ID.'],
    ['an invalid number', ['remove', 'WH1'], 'Wrong ID: it must be a number of webhooks list.'],
    ['a number to list', ['list', '1'], 'Too many arguments.'],
    ['a partner to list', ['list', '--partner', 'Acme'], 'Unknown option: --partner.'],
    ['events to enable', ['enable', '1', '--events', 'order.created'], 'Unknown option: --events.'],
  ])('rejects %s', async (...[, args, problem, privateAddresses]: Wrong) => {
    const running = run(args, privateAddresses);

    await expect(running).rejects.toThrow(UsageError);
    await expect(running).rejects.toThrow(problem);
  });

  it.each<Valid>([
    ['a URL', ['create', url]],
    [
      'a URL, events and a partner',
      ['create', url, '--events', ' job.failed ,order.created', '--partner', 'Acme'],
    ],
    ['a private address where that is allowed', ['create', 'http://10.0.0.1:8080/'], 'on'],
    ['a number', ['remove', '12']],
    ['no arguments of list', ['list']],
  ])('accepts %s', async (...[, args, privateAddresses]: Valid) => {
    await expect(run(args, privateAddresses)).rejects.toThrow('there is no database');
  });
});
