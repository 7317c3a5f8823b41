import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTestFolder } from './harness';
import { clientCertificate, closedPort, localhostCertificate } from './network';
import { TestServer } from './replicas';

/** Access by TCP with TLS only; the account `certified` also needs the certificate of a client. */
const tlsOnly = `local all all trust
hostssl all certified all cert map=clients
hostnossl all all all reject
hostssl all all all trust
`;

/** A PostgreSQL that shows `localhostCertificate`, and the files of its clients. */
export interface TlsServer {
  server: TestServer;
  port: number;
  /** `ca` is the right authority, `otherCa` a wrong one; the account `certified` needs `cert` and `key`. */
  files: { ca: string; otherCa: string; cert: string; key: string };
  /** Returns a database URL without TLS parameters. */
  url(database: string, host?: string): string;
  /** Allows connections without TLS too. */
  allowPlain(): Promise<void>;
}

/** Starts it until the file ends. It listens on 127.0.0.1, and rejects connections without TLS. */
export async function startTlsServer(): Promise<TlsServer> {
  const folder = createTestFolder();
  const write = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const files = {
    ca: write('ca.pem', localhostCertificate.cert),
    otherCa: write('other-ca.pem', clientCertificate.cert),
    cert: write('cert.pem', clientCertificate.cert),
    key: write('key.pem', clientCertificate.key),
  };
  const port = await closedPort();
  const server = await TestServer.create(port);
  await server.write('server.key', localhostCertificate.key);
  await server.write('server.crt', localhostCertificate.cert);
  await server.write('clients.crt', clientCertificate.cert);
  await server.write('pg_hba.conf', tlsOnly);
  await server.write('pg_ident.conf', 'clients postgres certified\n');
  server.configure({ listen_addresses: '127.0.0.1', ssl: 'on', ssl_ca_file: 'clients.crt' });
  await server.start();
  await server.ask('create role certified login superuser', 'postgres');
  return {
    server,
    port,
    files,
    url: (database, host = 'localhost') => `postgresql://postgres@${host}:${port}/${database}`,
    async allowPlain() {
      await server.write('pg_hba.conf', 'local all all trust\nhost all all all trust\n');
      await server.ask('select pg_reload_conf()', 'postgres');
    },
  };
}
