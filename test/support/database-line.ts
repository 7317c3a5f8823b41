import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import type { DatabaseAddress } from '../../src/db/database';
import { afterFile } from './after-file';
import { serviceWay } from './shared';

/** A line to a database that can be cut: nobody listens at its end then. */
export interface DatabaseLine {
  /** A `DATABASE_URL`. */
  url: string;
  cut(): Promise<void>;
  mend(): Promise<void>;
  /** From now on a commit gets to the database, and nothing comes back any more over its connection. */
  loseAnswersOfCommits(): void;
}

/** Opens a line to a database of the shared server. It is cut after the file. */
export async function openDatabaseLine(address: DatabaseAddress): Promise<DatabaseLine> {
  const { host, port, user, database } = serviceWay(address);
  const sockets = new Set<Socket>();
  let losesAnswers = false;
  const track = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    return socket;
  };
  const server = createServer((near) => {
    const far = track(connect(join(host!, `.s.PGSQL.${port}`)));
    track(near).on('data', (chunk: Buffer) => {
      if (losesAnswers && chunk.includes('COMMIT')) far.unpipe(near).resume();
    });
    near.pipe(far).pipe(near);
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
  });
  const listen = (at: number) =>
    new Promise<void>((resolve, reject) => server.once('error', reject).listen(at, '127.0.0.1', resolve));
  await listen(0);
  const { port: near } = server.address() as AddressInfo;

  async function cut(): Promise<void> {
    for (const socket of sockets) socket.destroy();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  }
  afterFile(cut);
  return {
    url: `postgresql://${user}@127.0.0.1:${near}/${database}`,
    cut,
    mend: () => listen(near),
    loseAnswersOfCommits: () => (losesAnswers = true),
  };
}
