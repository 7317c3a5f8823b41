import dns from 'node:dns';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { isDatabaseUnavailable, openDatabase, queryRows } from '../../../src/base/db/database';
import { readDatabaseUrl } from '../../../src/base/database-url';
import { sql } from '../../../src/base/db/sql';
import { afterFile, eventually } from '../../support/harness';
import { closedPort, localhostCertificate } from '../../support/network';
import { hasPgBouncer, startPgBouncer } from '../../support/pgbouncer';
import { startTlsServer, type TlsServer } from '../../support/tls-server';

/** The codes of PostgreSQL's protocol in the first packet of a connection. */
const firstPackets = new Map([
  [80_877_103, 'SSLRequest'],
  [80_877_102, 'CancelRequest'],
]);

let tls: TlsServer;
beforeAll(async () => {
  tls = await startTlsServer();
});

/** Forwards connections to a port, and records the first packet of each. `cut`: the numbers of connections that are closed instead. */
async function watchPort(
  port: number,
  cut: readonly number[] = [],
): Promise<{ port: number; asked: (string | undefined)[] }> {
  const asked: (string | undefined)[] = [];
  const sockets = new Set<Socket>();
  let count = 0;
  const front = createServer((near) => {
    if (cut.includes(++count)) {
      near.destroy();
      return;
    }
    const far = connect(port, '127.0.0.1');
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('error', () => undefined).on('close', () => to.destroy());
      from.pipe(to);
    }
    near.once('data', (bytes) => asked.push(firstPackets.get(bytes.readInt32BE(4))));
  });
  await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
  afterFile(() => {
    for (const socket of sockets) socket.destroy();
    front.close();
  });
  return { port: (front.address() as AddressInfo).port, asked };
}

/** The slow statements that the server executes. */
const active = () =>
  tls.server.ask<{ query: string }>(
    "select query from pg_stat_activity where query like '%pg_sleep(120)%' and state = 'active' and pid <> pg_backend_pid()",
    'postgres',
  );

/** Cancels slow statements of a pool, one on each connection. @returns when the server has stopped them */
async function cancelSome(url: string, count = 1, queryMilliseconds = 500): Promise<void> {
  const connectionString = readDatabaseUrl('Wrong URL', url, {});
  const db = openDatabase(
    { connectionString },
    { applicationName: 'limited', connectionsMax: count, queryMilliseconds },
  );
  try {
    const statements = Array.from({ length: count }, () => queryRows(db, sql`select pg_sleep(120)`));
    const results = await Promise.allSettled(statements);
    const reasons = results.map((result) => result.status === 'rejected' && (result.reason as unknown));
    expect(reasons.map(isDatabaseUnavailable)).toEqual(Array(count).fill(true));
    await eventually('the server has cancelled them', async () => (await active()).length === 0, 20);
  } finally {
    await db.destroy();
  }
}

const urlOf = (port: number, parameters: string, host = 'localhost') =>
  `postgresql://postgres@${host}:${port}/postgres?${parameters}`;
const verifyFull = () => `sslmode=verify-full&sslrootcert=${encodeURIComponent(tls.files.ca)}`;

describe('a statement that times out', () => {
  it.each<[string, string, () => string]>([
    ['verify-full', 'localhost', verifyFull],
    ['verify-ca', '127.0.0.1', () => verifyFull().replace('full', 'ca')],
    ['require', '127.0.0.1', () => 'sslmode=require'],
    [
      'the certificate of a client',
      'localhost',
      () => `${verifyFull()}&sslcert=${tls.files.cert}&sslkey=${tls.files.key}&user=certified`,
    ],
  ])('is cancelled over TLS with %s, if its connection uses that', async (_mode, host, parameters) => {
    const { port, asked } = await watchPort(tls.port);

    await cancelSome(urlOf(port, parameters(), host));

    expect(asked).toEqual(['SSLRequest', 'SSLRequest']);
  });

  it('is cancelled over TLS with direct negotiation, if its connection uses that', async () => {
    const { port, asked } = await watchPort(tls.port);

    await cancelSome(urlOf(port, 'sslmode=require&sslnegotiation=direct'));

    expect(asked).toEqual([undefined, undefined]);
  });

  it('is cancelled over TLS each time, among many', async () => {
    for (let round = 1; round <= 10; round++) await cancelSome(urlOf(tls.port, verifyFull()), 20, 50);
  });

  it('is cancelled when the first requests are lost', async () => {
    const { port, asked } = await watchPort(tls.port, [2, 3]);

    await cancelSome(urlOf(port, verifyFull()));

    expect(asked).toEqual(['SSLRequest', 'SSLRequest']);
  });

  it('is cancelled at its server, where the name has got another address since', async () => {
    const { lookup } = dns;
    let lookups = 0;
    jest.spyOn(dns, 'lookup').mockImplementation(((_name: string, options: object, done: () => void) => {
      // Nothing listens on 127.0.0.2.
      lookup(++lookups === 1 ? '127.0.0.1' : '127.0.0.2', options, done);
    }) as typeof lookup);

    await cancelSome(urlOf(tls.port, verifyFull()));

    expect(lookups).toBe(1);
  });

  it('is cancelled without TLS, if its connection uses none', async () => {
    await tls.allowPlain();
    const { port, asked } = await watchPort(tls.port);

    await cancelSome(urlOf(port, ''));

    expect(asked.at(-1)).toBe('CancelRequest');
  });

  // jest.config.mjs reports when this is skipped.
  (hasPgBouncer ? it : it.skip)(
    'is cancelled through a PgBouncer that requires TLS, also when the first requests are lost',
    async () => {
      const pooler = await startPgBouncer(tls.server.address, 2, {
        port: await closedPort(),
        tls: localhostCertificate,
      });
      afterFile(() => pooler.stop());
      const { port, asked } = await watchPort(pooler.address.port, [2, 3]);

      await cancelSome(urlOf(port, verifyFull()));

      expect(asked).toEqual(['SSLRequest', 'SSLRequest']);
    },
  );
});
