import { writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { isDatabaseUnavailable, openDatabase } from '../../../src/base/db/database';
import { afterFile, eventually, createTestFolder } from '../../support/harness';
import { closedPort, localhostCertificate } from '../../support/network';
import { hasPgBouncer, startPgBouncer } from '../../support/pgbouncer';
import { TestServer } from '../../support/replicas';

/** The codes of PostgreSQL's protocol in the first packet of a connection. */
const firstPackets = new Map([
  [80_877_103, 'SSLRequest'],
  [80_877_102, 'CancelRequest'],
]);

let server: TestServer;
/** A file with the certificate that the server shows. */
let ca: string;
let tcpPort: number;

beforeAll(async () => {
  ca = join(createTestFolder(), 'ca.pem');
  writeFileSync(ca, localhostCertificate.cert);
  tcpPort = await closedPort();
  server = await TestServer.create(tcpPort);
  await server.write('server.key', localhostCertificate.key);
  await server.write('server.crt', localhostCertificate.cert);
  await server.write(
    'pg_hba.conf',
    'local all all trust\nhostnossl all all all reject\nhostssl all all all trust\n',
  );
  server.configure({ listen_addresses: '127.0.0.1', ssl: 'on' });
  await server.start();
});

/** Forwards connections to a port, and records the first packet of each. */
async function watchPort(port: number): Promise<{ port: number; asked: (string | undefined)[] }> {
  const asked: (string | undefined)[] = [];
  const sockets = new Set<Socket>();
  const front = createServer((near) => {
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

/** Cancels a slow statement of a pool. @returns when the server has stopped it */
async function cancelOne(connectionString: string): Promise<void> {
  const db = openDatabase(
    { connectionString },
    { applicationName: 'limited', connectionsMax: 1, queryMilliseconds: 500 },
  );
  try {
    const error: unknown = await db.raw('select pg_sleep(120)').catch((reason: unknown) => reason);
    expect(isDatabaseUnavailable(error)).toBe(true);
  } finally {
    await db.destroy();
  }
  await eventually('the server has cancelled it', async () => {
    const sql =
      "select from pg_stat_activity where query like '%pg_sleep(120)%' and state = 'active' and pid <> pg_backend_pid()";
    return (await server.ask(sql, 'postgres')).length === 0;
  });
}

describe('a statement that times out', () => {
  it('is cancelled over TLS with verification, if its connection uses that', async () => {
    const { port, asked } = await watchPort(tcpPort);

    await cancelOne(
      `postgresql://postgres@localhost:${port}/postgres?sslmode=verify-full&sslrootcert=${encodeURIComponent(ca)}`,
    );

    expect(asked).toEqual(['SSLRequest', 'SSLRequest']);
  });

  it('is cancelled over TLS with direct negotiation, if its connection uses that', async () => {
    const { port, asked } = await watchPort(tcpPort);

    await cancelOne(
      `postgresql://postgres@localhost:${port}/postgres?sslmode=no-verify&sslnegotiation=direct`,
    );

    expect(asked).toEqual([undefined, undefined]);
  });

  it('is cancelled without TLS, if its connection uses none', async () => {
    await server.write('pg_hba.conf', 'local all all trust\nhost all all all trust\n');
    await server.ask('select pg_reload_conf()', 'postgres');
    const { port, asked } = await watchPort(tcpPort);

    await cancelOne(`postgresql://postgres@localhost:${port}/postgres`);

    expect(asked.at(-1)).toBe('CancelRequest');
  });

  // jest.config.mjs reports when this is skipped.
  (hasPgBouncer ? it : it.skip)('is cancelled through a PgBouncer that requires TLS', async () => {
    const pooler = await startPgBouncer(server.address, 2, {
      port: await closedPort(),
      tls: localhostCertificate,
    });
    afterFile(() => pooler.stop());
    const { port, asked } = await watchPort(pooler.address.port);

    await cancelOne(`postgresql://postgres@localhost:${port}/postgres?sslmode=no-verify`);

    expect(asked).toEqual(['SSLRequest', 'SSLRequest']);
  });
});
