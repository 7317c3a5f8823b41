import { runAdmin } from '../../support/commands';
import { eventually } from '../../support/harness';
import { spawnService, startService, type ServiceProcess } from '../../support/process';
import { testKey } from '../../support/service';
import { startTlsServer, type TlsServer } from '../../support/tls-server';

const database = 'partner_catalog';

let tls: TlsServer;
beforeAll(async () => {
  tls = await startTlsServer();
  await tls.server.ask(`create database ${database}`, 'postgres');
});

const settings = (parameters: string, host?: string) => ({
  DATABASE_URL: `${tls.url(database, host)}${parameters}`,
  API_KEYS: testKey,
});
const verified = (authority: keyof TlsServer['files'] = 'ca') =>
  `?sslmode=verify-full&sslrootcert=${encodeURIComponent(tls.files[authority])}`;

const linesOf = ({ stdout }: Pick<ServiceProcess, 'stdout'>) =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describe('a service whose database requires TLS', () => {
  it.each<[string, () => Record<string, string>]>([
    ['verify-full', () => settings(verified())],
    ['require', () => settings('?sslmode=require', '127.0.0.1')],
    [
      'the variables of libpq',
      () => ({ ...settings(''), PGSSLMODE: 'verify-full', PGSSLROOTCERT: tls.files.ca }),
    ],
  ])('connects by %s, and prints nothing but JSON', async (_mode, env) => {
    const service = await startService({ env: env() });
    expect((await service.api.get('/products')).status).toBe(200);
    expect((await service.api.get('/health')).body).toEqual({ status: 'ok', database: 'connected' });

    const { code, stdout, stderr } = await service.stop();

    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(linesOf({ stdout }).map(({ msg }) => msg)).toContain('listening');
  });

  const cases: [string, () => Record<string, string>, () => string][] = [
    [
      'a missing certificate',
      () => settings('?sslmode=verify-full&sslrootcert=/nowhere/ca.pem'),
      () =>
        "sslrootcert names the file /nowhere/ca.pem, which cannot be read (ENOENT: no such file or directory, open '/nowhere/ca.pem').",
    ],
    [
      'a mode that may connect without TLS',
      () => settings('?sslmode=prefer'),
      () =>
        "sslmode must be disable, require (encrypts, and checks no certificate), verify-ca or verify-full, and is 'prefer'; prefer and allow, which may connect without TLS, are not supported.",
    ],
    [
      'a wrong authority',
      () => settings(verified('otherCa')),
      () => 'the database cannot be used (self-signed certificate).',
    ],
    [
      'another host name',
      () => settings(verified(), '127.0.0.1'),
      () =>
        "the database cannot be used (Hostname/IP does not match certificate's altnames: IP: 127.0.0.1 is not in the cert's list: ).",
    ],
  ];

  it.each(cases)('does not start with %s, and says why in one line', async (_what, env, reason) => {
    const line = `Wrong setting DATABASE_URL: ${reason()}\n`;

    for (const role of [undefined, 'migrate']) {
      const { code, stderr } = await spawnService({ env: env(), role }).exit;
      expect({ code, stderr }).toEqual({ code: 1, stderr: line });
    }
    expect(await runAdmin(env(), 'keys', 'list')).toEqual({ code: 1, stdout: '', stderr: line });
  });

  it('copies another database by TLS, and rejects wrong parameters of its address', async () => {
    const copyFrom = (from: string) => runAdmin(settings(verified()), 'database', 'copy', from);

    expect(await copyFrom(`${tls.url(database)}?sslrootcert=${tls.files.ca}`)).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'Wrong argument FROM: sslrootcert has no effect without sslmode, for example sslmode=verify-full.\n',
    });
    await tls.server.ask('create database other', 'postgres');
    expect((await copyFrom(`${tls.url('other')}${verified()}`)).stderr).toContain('differ');
  });

  it('logs why a replica is not used', async () => {
    const service = await startService({
      env: { ...settings(verified()), DATABASE_REPLICA_URL: `${tls.url(database)}${verified('otherCa')}` },
    });

    const line = await eventually(
      'the log says so',
      () => linesOf(service).find(({ msg }) => /^replica disabled/.test(String(msg))) ?? false,
    );

    expect(line).toMatchObject({
      err: { message: expect.stringContaining('self-signed certificate') as string },
    });
    expect((await service.stop()).stderr).toBe('');
  });
});
