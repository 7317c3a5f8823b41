import { createServer, type AddressInfo, type Socket } from 'node:net';
import type { DatabaseAddress } from '../../src/db/database';
import { afterFile } from './after-file';

/** Something that listens where a database is expected, and does not behave like one. */
export interface FakeDatabase {
  address: DatabaseAddress;
  /** Connections that are open now. */
  open: Set<Socket>;
  /** Connections that there were. */
  accepted(): number;
}

/** Starts it; `behave` is called with every connection. It is stopped after the file. */
export async function startFakeDatabase(behave: (connection: Socket) => void): Promise<FakeDatabase> {
  const open = new Set<Socket>();
  let accepted = 0;
  const server = createServer((connection) => {
    accepted++;
    open.add(connection);
    connection.on('close', () => open.delete(connection));
    connection.on('error', () => undefined);
    // Without a reader the end of the connection would go unnoticed.
    connection.resume();
    behave(connection);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterFile(async () => {
    for (const connection of open) connection.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return {
    address: { host: '127.0.0.1', port, user: 'nobody', database: 'none' },
    open,
    accepted: () => accepted,
  };
}
