import { isDatabaseUnavailable, openDatabase, queryRows } from '../../../src/base/db/database';
import { readDatabaseUrl } from '../../../src/base/database-url';
import { sql } from '../../../src/base/db/sql';
import { eventually } from '../../support/harness';
import { startTlsServer, type TlsServer } from '../../support/tls-server';

let tls: TlsServer;
beforeAll(async () => {
  tls = await startTlsServer();
});

/** Connects with these parameters. @returns whether by TLS, and the subject of the client's certificate */
async function connect(parameters: string, host = 'localhost', user = 'postgres') {
  const url = tls.url('postgres', host).replace('postgres@', `${user}@`);
  const connectionString = readDatabaseUrl('Wrong URL', `${url}?${parameters}`, {});
  const db = openDatabase({ connectionString }, { applicationName: 'test', connectionsMax: 1 });
  try {
    const [row] = await queryRows<{ ssl: boolean; client_dn: string | null }>(
      db,
      sql`select ssl, client_dn from pg_stat_ssl where pid = pg_backend_pid()`,
    );
    return row!;
  } finally {
    await db.destroy();
  }
}

const fileOf = (name: keyof TlsServer['files']) => encodeURIComponent(tls.files[name]);
const theError = (error: unknown) => error as Error;

describe('a server whose certificate has the name localhost', () => {
  it.each<[string, string, () => string]>([
    ['require without an authority', '127.0.0.1', () => 'sslmode=require'],
    ['require', '127.0.0.1', () => `sslmode=require&sslrootcert=${fileOf('ca')}`],
    ['verify-ca', '127.0.0.1', () => `sslmode=verify-ca&sslrootcert=${fileOf('ca')}`],
    ['verify-full', 'localhost', () => `sslmode=verify-full&sslrootcert=${fileOf('ca')}`],
    [
      'verify-full with direct negotiation',
      'localhost',
      () => `sslmode=verify-full&sslnegotiation=direct&sslrootcert=${fileOf('ca')}`,
    ],
  ])('is accepted by %s, as %s', async (_mode, host, parameters) => {
    expect(await connect(parameters(), host)).toMatchObject({ ssl: true });
  });

  it.each<[string, string, () => string, RegExp]>([
    [
      'require with a wrong authority',
      '127.0.0.1',
      () => `sslmode=require&sslrootcert=${fileOf('otherCa')}`,
      /self-signed certificate/,
    ],
    [
      'verify-ca with a wrong authority',
      'localhost',
      () => `sslmode=verify-ca&sslrootcert=${fileOf('otherCa')}`,
      /self-signed certificate/,
    ],
    [
      'verify-full with a wrong authority',
      'localhost',
      () => `sslmode=verify-full&sslrootcert=${fileOf('otherCa')}`,
      /self-signed certificate/,
    ],
    [
      'verify-full with public authorities',
      'localhost',
      () => 'sslmode=verify-full',
      /self-signed certificate/,
    ],
    [
      'verify-full',
      '127.0.0.1',
      () => `sslmode=verify-full&sslrootcert=${fileOf('ca')}`,
      /does not match certificate/,
    ],
  ])('is rejected by %s, as %s, and counts as unavailable', async (_mode, host, parameters, reason) => {
    const error = await connect(parameters(), host).then(() => new Error('no error'), theError);

    expect(error.message).toMatch(reason);
    expect(isDatabaseUnavailable(error)).toBe(true);
  });

  it('accepts the certificate of a client', async () => {
    const client = `sslmode=verify-full&sslrootcert=${fileOf('ca')}&sslcert=${fileOf('cert')}&sslkey=${fileOf('key')}`;

    expect(await connect(client, 'localhost', 'certified')).toEqual({ ssl: true, client_dn: '/CN=postgres' });
    await expect(connect('sslmode=require', 'localhost', 'certified')).rejects.toThrow('certificate');
  });

  it('is reached without TLS only if the server allows it', async () => {
    await expect(connect('sslmode=disable')).rejects.toThrow('no encryption');
    await tls.allowPlain();
    expect(await connect('sslmode=disable')).toMatchObject({ ssl: false });
  });
});

it('a server without TLS is rejected by require, and counts as unavailable', async () => {
  await tls.server.ask('alter system set ssl = off', 'postgres');
  await tls.server.ask('select pg_reload_conf()', 'postgres');

  const error = await eventually('the server has no TLS', () =>
    connect('sslmode=require').then(() => false as const, theError),
  );

  expect(error.message).toBe('The server does not support SSL connections');
  expect(isDatabaseUnavailable(error)).toBe(true);
});
