import { Connection, type Client, type ClientConfig } from 'pg';

/** How long opening a connection may take. */
export const databaseConnectMilliseconds = 5_000;

/** How the driver knows its session, and the way to the server; its types leave these out. */
type Session = Client & {
  processID: number;
  secretKey: number;
  ssl: ClientConfig['ssl'];
  sslNegotiation: 'postgres' | 'direct';
};

/** What the driver's own client does with a connection; its types leave these out too. */
type RawConnection = Connection & {
  connect(port: number | string, host?: string): void;
  requestSsl(): void;
  cancel(processId: number, secretKey: number): void;
};

/**
 * Cancels the statement that a connection is waiting for.
 *
 * Without it, the server would work on, or wait for a lock, for no client. The request is the protocol's own, on a connection
 * with the same TLS settings: a pooler knows its sessions by no other name. `Client.cancel` of the driver knows no TLS.
 * @returns when the server has taken the request, or does not seem to
 */
export async function cancelStatement(connection: Client): Promise<void> {
  const { host, port, processID, secretKey, ssl, sslNegotiation } = connection as Session;
  const request = new Connection({ ssl, sslNegotiation } as ClientConfig) as RawConnection;
  const cancel = () => request.cancel(processID, secretKey);
  request.on('error', () => undefined);
  if (ssl) {
    // Direct negotiation begins with TLS itself.
    if (sslNegotiation !== 'direct') request.once('connect', () => request.requestSsl());
    request.once('sslconnect', cancel);
  } else request.once('connect', cancel);
  const closed = new Promise((resolve) => request.once('end', resolve));
  const timeout = setTimeout(() => request.stream.destroy(), databaseConnectMilliseconds);
  if (host.startsWith('/')) request.connect(`${host}/.s.PGSQL.${port}`);
  else request.connect(port, host);
  // Not ended from here: a pooler forgets the request of a connection that goes away.
  await closed;
  clearTimeout(timeout);
}
