import { adminProgram } from '../../../src/operation/admin/program';
import { UsageError } from '../../../src/base/command-line';
import { runAdmin } from '../../support/commands';
import { createEmptyDatabase, createTestDatabase, databaseUrl } from '../../support/databases';
import { eventually, createTestFolder } from '../../support/harness';
import { spawnService, startService, startUsedService } from '../../support/process';
import { testKey } from '../../support/service';

/** Runs `npm run admin -- keys`. */
const keys = (env: Record<string, string>, ...args: string[]) => runAdmin(env, 'keys', ...args);

describe('the command that manages keys', () => {
  it.concurrent('works before the first start of a service, which accepts its keys', async () => {
    const env = { DATABASE_URL: databaseUrl(await createEmptyDatabase()) };

    const refused = spawnService({ env });
    const { code, stderr } = await refused.exit;
    expect(code).toBe(1);
    expect(stderr).toBe(
      'Wrong setting API_KEYS: it must contain at least one key when DATABASE_URL is set, unless the database has one: ' +
        'npm run admin -- keys create NAME.\n',
    );

    const created = await keys(env, 'create', 'shop');
    expect(created).toMatchObject({ code: 0, stdout: expect.stringMatching(/^pcis_[0-9A-Za-z]{36}\n$/) });
    const key = created.stdout.trim();
    const service = await startService({ env, key });
    expect((await service.api.get('/products')).status).toBe(200);

    expect(await keys(env, 'revoke', 'shop')).toMatchObject({ code: 0 });
    await eventually(
      'the key is refused',
      async () => (await service.api.get('/products')).status === 401,
      5,
    );
    await service.stop();
  });

  it.concurrent('prints a key once, and lists everything except the key', async () => {
    const { address } = await createTestDatabase();
    const env = { DATABASE_URL: databaseUrl(address) };
    const service = await startService({ env: { ...env, API_KEYS: testKey } });

    const { stdout, stderr } = await keys(env, 'create', 'Acme live', '--partner', ' Acme Outdoor ');
    expect(stderr).toBe(
      'This is the key named Acme live. Keep it now: it cannot be shown again. It is limited to partner Acme Outdoor.\n' +
        'There is no feed of this partner yet.\n',
    );
    expect(await keys(env, 'create', 'Acme live')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'A key named Acme live is in use. Revoke it, or give the new one another name.\n',
    });

    const limited = service.api.withKey(stdout.trim());
    const csv = 'sku,product_name\nA,A\n';
    expect((await limited.upload({ partnerName: 'Acme Outdoor', csv })).status).toBe(201);
    expect((await limited.upload({ partnerName: 'Birch', csv })).status).toBe(403);

    expect((await keys(env, 'create', 'Acme test', '--partner', 'Acme Outdoor')).stderr).not.toContain(
      'no feed',
    );
    expect(await keys(env, 'revoke', 'Acme test')).toEqual({
      code: 0,
      stdout: '',
      stderr: 'The key named Acme test is revoked; it stops working within seconds.\n',
    });
    const list = await keys(env, 'list');
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as unknown;
    expect(list.stdout.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['NAME', 'PARTNER', 'ACCESS', 'CREATED', 'LAST USED', 'EXPIRES', 'STATE'],
      // Written once a minute.
      [
        'Acme live',
        'Acme Outdoor',
        'full',
        time,
        expect.stringMatching(/^\(never\)$|Z$/),
        '(never)',
        'in use',
      ],
      [
        'Acme test',
        'Acme Outdoor',
        'full',
        time,
        '(never)',
        '(never)',
        expect.stringMatching(/^revoked \d{4}-/),
      ],
      [''],
    ]);
    expect(list.stdout).not.toContain('pcis_');
    expect(await keys(env, 'revoke', 'Acme test')).toMatchObject({
      code: 1,
      stderr: 'No key named Acme test is in use.\n',
    });
    await service.stop();
  });

  it.concurrent('creates read-only and expiring keys, and lists their last use', async () => {
    const service = await startUsedService();
    const env = { DATA_DIR: service.dataDir };

    const reader = await keys(env, 'create', 'reader', '--read-only', '--expires', '2099-01-31');
    expect(reader.stderr).toBe(
      'This is the key named reader. Keep it now: it cannot be shown again. It is read-only. ' +
        'It expires at 2099-01-31T00:00:00.000Z.\n',
    );
    expect(await keys(env, 'create', 'guest', '--expires-in', '12h')).toMatchObject({ code: 0 });

    const api = service.api.withKey(reader.stdout.trim());
    expect((await api.get('/products')).status).toBe(200);
    expect(await api.upload({ partnerName: 'Birch', csv: 'sku,product_name\nA,A\n' })).toMatchObject({
      status: 403,
      body: { detail: 'This API key is read-only.' },
    });
    // Shutdown flushes the last use of keys.
    await service.stop();
    const lines = (await keys(env, 'list')).stdout.split('\n').map((line) => line.split(/ {2,}/));
    const time = expect.stringMatching(/^20.*Z$/) as unknown;
    expect(lines.slice(1, -1)).toEqual([
      ['reader', '(all)', 'read-only', time, time, '2099-01-31T00:00:00.000Z', 'in use'],
      ['guest', '(all)', 'full', time, '(never)', time, 'in use'],
    ]);
    const halfADay = Date.parse(lines[2]![5]!) - Date.parse(lines[2]![3]!);
    expect(Math.round(halfADay / 3_600_000)).toBe(12);
  });

  it.each<[string, string[], string]>([
    ['an unknown command', ['rotate'], 'Unknown command: rotate. (Did you mean create?)'],
    ['no name', ['create'], 'Missing argument: NAME.'],
    [
      'a blank name',
      ['create', ' '],
      'Wrong NAME: it must have 1 to 100 characters, none of them a control character.',
    ],
    [
      'a name of two lines',
      ['create', 'a\nb'],
      'Wrong NAME: it must have 1 to 100 characters, none of them a control character.',
    ],
    ['two names', ['revoke', 'a', 'b'], 'Too many arguments.'],
    ['a name to list', ['list', 'a'], 'Too many arguments.'],
    ['a partner to revoke', ['revoke', 'a', '--partner', 'b'], 'Unknown option: --partner.'],
    ['a partner without a name', ['create', 'a', '--partner'], 'Missing value: --partner PARTNER.'],
    [
      'a blank partner',
      ['create', 'a', '--partner', ''],
      'Wrong PARTNER: String should have at least 1 character.',
    ],
    [
      'a day in the past',
      ['create', 'a', '--expires', '2026-01-31'],
      'Wrong TIME: it must be in the future.',
    ],
    [
      'an unknown form of a day',
      ['create', 'a', '--expires', '31.1.2027'],
      'Wrong TIME: it must be one such as 2027-01-31 or 2027-01-31T18:00:00Z.',
    ],
    [
      'a day that does not exist',
      ['create', 'a', '--expires', '2027-02-31'],
      'Wrong TIME: it must be one such as 2027-01-31 or 2027-01-31T18:00:00Z.',
    ],
    [
      'a duration without a unit',
      ['create', 'a', '--expires-in', '90'],
      'Wrong DURATION: it must be one such as 90d or 12h, at most 36500d.',
    ],
    [
      'a day and a duration',
      ['create', 'a', '--expires', '2099-01-31', '--expires-in', '90d'],
      'Only one of --expires TIME and --expires-in DURATION can be used.',
    ],
    ['an unknown option', ['list', '--all'], 'Unknown option: --all.'],
  ])('rejects %s', async (_what, args, problem) => {
    process.env.DATA_DIR = createTestFolder();
    const running = adminProgram().runWith(['keys', ...args]);

    await expect(running).rejects.toThrow(UsageError);
    const known = ['create', 'list', 'revoke'].includes(args[0]!) ? ` ${args[0]!}` : '';
    await expect(running).rejects.toMatchObject({
      message: `${problem}\nHelp: npm run --silent admin -- keys${known} --help`,
    });
  });

  it.concurrent('rejects a mistyped option with two lines and exit code 2', async () => {
    expect(await keys({}, 'create', 'a', '--patner', 'b')).toEqual({
      code: 2,
      stdout: '',
      stderr:
        'Unknown option: --patner. (Did you mean --partner?)\nHelp: npm run --silent admin -- keys create --help\n',
    });
  });

  it.concurrent('names the data folder when there is no database', async () => {
    const dataDir = createTestFolder();

    expect(await keys({ DATA_DIR: dataDir }, 'list')).toEqual({
      code: 1,
      stdout: '',
      stderr: `Wrong setting DATA_DIR: there is no database in ${dataDir}.\n`,
    });
  });
});
