import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigError } from '../shared/settings';

/** At shutdown, how long a request that was cut has to remove what it has stored. */
const cutRequestMilliseconds = 1_000;

/** @returns the address, for people on this machine. @throws ConfigError that names the setting which does not work */
export function listen(
  server: Server,
  { host, port }: { host: string; port: number },
  settings: { host: string; port: string },
): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const name = error.code === 'EADDRINUSE' || error.code === 'EACCES' ? settings.port : settings.host;
      reject(new ConfigError(`Wrong setting ${name}: cannot listen on ${host}:${port} (${error.message}).`));
    });
    server.listen(port, host, () => {
      const shown = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
      const { port: actual } = server.address() as AddressInfo;
      resolve(`http://${shown.includes(':') ? `[${shown}]` : shown}:${actual}`);
    });
  });
}

/** Takes no new work, lets what is in flight end, and cuts it after `shutdownSeconds`. */
export async function drain(server: Server, ended: Promise<void>, shutdownSeconds: number): Promise<void> {
  server.close();
  server.closeIdleConnections();
  await Promise.race([ended, sleep(shutdownSeconds * 1000, undefined, { ref: false })]);
  server.closeAllConnections();
  // A request that was cut removes what it has stored.
  await Promise.race([ended, sleep(cutRequestMilliseconds, undefined, { ref: false })]);
}
