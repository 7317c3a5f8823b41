import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ConnectionOptions } from 'node:tls';
import { Client } from 'pg';
import { clientConfig } from '../../../src/base/db/database';
import { readDatabaseUrl } from '../../../src/base/database-url';
import { createTestFolder } from '../../support/harness';
import { clientCertificate, localhostCertificate } from '../../support/network';

const folder = createTestFolder();
const file = (name: string, text = '') => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const ca = file('ca.pem', `# A bundle\n${localhostCertificate.cert}${clientCertificate.cert}`);
const cert = file('cert.pem', clientCertificate.cert);
const key = file('key.pem', clientCertificate.key);
const otherKey = file('other-key.pem', localhostCertificate.key);
const empty = file('empty.pem');
const damaged = file('damaged.pem', localhostCertificate.cert.replace('MII', 'AAA'));

const base = 'postgresql://user:secret@db.example.org:5433/catalog';
const read = (parameters: string, env: NodeJS.ProcessEnv = {}, url = base) =>
  readDatabaseUrl('Wrong setting DATABASE_URL', `${url}${parameters && '?'}${parameters}`, env);

/** The TLS settings with which the driver connects. */
function settingsOf(connectionString: string): boolean | ConnectionOptions {
  const client = new Client(clientConfig({ connectionString }, 'test'));
  return (client as unknown as { ssl: boolean | ConnectionOptions }).ssl;
}

describe('the TLS parameters of a database URL mean what they mean to libpq', () => {
  const authorities = { ca: expect.stringContaining(localhostCertificate.cert) as string };
  const anyHost = { checkServerIdentity: expect.any(Function) as () => undefined };

  it.each<[string, boolean | ConnectionOptions]>([
    ['', false],
    ['connect_timeout=3', false],
    ['sslmode=disable', false],
    ['sslmode=disable&sslrootcert=/nowhere', false],
    ['sslmode=verify-full&sslmode=disable', false],
    ['sslmode=require', { rejectUnauthorized: false }],
    [`sslmode=require&sslrootcert=${ca}`, { ...authorities, ...anyHost }],
    [`sslmode=verify-ca&sslrootcert=${ca}`, { ...authorities, ...anyHost }],
    [`sslmode=verify-full&sslrootcert=${ca}`, authorities],
    [`sslmode=verify-full&sslrootcert=${ca}#fragment`, authorities],
    ['sslmode=verify-full', {}],
    ['sslmode=verify-full&sslrootcert=system', {}],
    [
      `sslmode=require&sslcert=${cert}&sslkey=${key}`,
      { rejectUnauthorized: false, cert: clientCertificate.cert },
    ],
  ])('%s', (parameters, expected) => {
    const warn = jest.spyOn(process, 'emitWarning');

    expect(settingsOf(read(parameters))).toEqual(expected);
    expect(warn).not.toHaveBeenCalled();
  });

  it('keeps all other parts of the URL', () => {
    const client = new Client({
      connectionString: read('application_name=a%20b&sslmode=require&options=-c%20x%3D1'),
    });

    expect(client).toMatchObject({ host: 'db.example.org', port: 5433, user: 'user', database: 'catalog' });
    expect(client.password).toBe('secret');
    expect(client).toMatchObject({
      connectionParameters: { application_name: 'a b', options: '-c x=1' },
    });
  });

  it('takes the variables of libpq where the URL has no parameter', () => {
    const env = { PGSSLMODE: 'verify-full', PGSSLROOTCERT: ca, PGSSLNEGOTIATION: 'direct' };

    expect(settingsOf(read('', env))).toEqual(authorities);
    expect(settingsOf(read('sslmode=require', env))).toEqual({ ...authorities, ...anyHost });
    expect(settingsOf(read('sslmode=disable', env))).toBe(false);
  });

  it.each(['postgresql://postgres@/db?host=/var/run', 'postgresql://postgres@%2Fvar%2Frun/db?'])(
    'uses no TLS on a socket: %s',
    (url) => {
      const env = { PGSSLMODE: 'verify-full', PGSSLROOTCERT: '/nowhere', PGSSLNEGOTIATION: 'direct' };

      expect(settingsOf(readDatabaseUrl('', url, env))).toBe(false);
      expect(settingsOf(readDatabaseUrl('', `${url}&sslmode=require`, {}))).toBe(false);
    },
  );
});

it('the driver does not read the variables of libpq, whose meaning differs there', () => {
  process.env.PGSSLMODE = 'require';
  process.env.PGSSLNEGOTIATION = 'direct';
  try {
    expect(settingsOf(base)).toBe(false);
    expect(new Client(clientConfig({ host: '/var/run' }, 'test'))).toMatchObject({ ssl: false });
  } finally {
    delete process.env.PGSSLMODE;
    delete process.env.PGSSLNEGOTIATION;
  }
});

describe('TLS parameters that are wrong or have no effect are rejected with one sentence', () => {
  const modes =
    'must be disable, require (encrypts, and checks no certificate), verify-ca or verify-full, and is';
  const fallback = 'prefer and allow, which may connect without TLS, are not supported';
  const supported = 'the parameters for TLS are sslmode, sslrootcert, sslcert, sslkey, sslnegotiation';

  it.each<[string, string, NodeJS.ProcessEnv?]>([
    ['sslmode=prefer', `sslmode ${modes} 'prefer'; ${fallback}`],
    ['sslmode=no-verify', `sslmode ${modes} 'no-verify'; ${fallback}`],
    ['', `PGSSLMODE ${modes} 'verify'; ${fallback}`, { PGSSLMODE: 'verify' }],
    ['ssl=true', `ssl is not supported; ${supported}`],
    ['sslmode=require&sslcrl=/crl', `sslcrl is not supported; ${supported}`],
    ['sslmode=require&sslnegotiation=tls', "sslnegotiation must be postgres or direct, and is 'tls'"],
    [
      'sslnegotiation=direct',
      'sslnegotiation has no effect without sslmode, for example sslmode=verify-full',
    ],
    [`sslrootcert=${ca}`, 'sslrootcert has no effect without sslmode, for example sslmode=verify-full'],
    [
      '',
      'PGSSLROOTCERT has no effect without sslmode, for example sslmode=verify-full',
      { PGSSLROOTCERT: ca },
    ],
    ['sslmode=verify-ca', 'sslmode=verify-ca needs sslrootcert, the file with the certificate authority'],
    [
      'sslmode=verify-ca&sslrootcert=system',
      'sslrootcert=system needs sslmode=verify-full: anyone can get a certificate of a public authority',
    ],
    [`sslmode=require&sslcert=${cert}`, 'sslcert and sslkey must be set together'],
    [`sslmode=require&sslkey=${key}`, 'sslcert and sslkey must be set together'],
  ])('%s', (parameters, problem, env = {}) => {
    expect(() => read(parameters, env)).toThrow(new Error(`Wrong setting DATABASE_URL: ${problem}.`));
  });

  const missing = (path: string) => `cannot be read (ENOENT: no such file or directory, open '${path}')`;

  it.each<[string, string, string, string]>([
    ['missing', 'sslmode=verify-full&sslrootcert=', '/nowhere/ca.pem', missing('/nowhere/ca.pem')],
    [
      'without a certificate',
      'sslmode=require&sslrootcert=',
      empty,
      'does not contain a valid certificate in PEM',
    ],
    [
      'a damaged certificate',
      'sslmode=verify-ca&sslrootcert=',
      damaged,
      'does not contain a valid certificate in PEM',
    ],
    [
      'the key of another certificate',
      `sslmode=require&sslcert=${cert}&sslkey=`,
      otherKey,
      `is not the key of the certificate in ${cert}`,
    ],
    [
      'a certificate in place of a key',
      `sslmode=require&sslcert=${cert}&sslkey=`,
      cert,
      'does not contain a private key without a passphrase in PEM',
    ],
  ])('a file that is %s', (_what, parameters, path, problem) => {
    const name = /(\w+)=$/.exec(parameters)![1];

    expect(() => read(`${parameters}${path}`)).toThrow(
      new Error(`Wrong setting DATABASE_URL: ${name} names the file ${path}, which ${problem}.`),
    );
  });

  it('a missing file of a variable', () => {
    expect(() => read('sslmode=verify-full', { PGSSLROOTCERT: '/nowhere' })).toThrow(
      'PGSSLROOTCERT names the file /nowhere, which cannot be read',
    );
  });
});
