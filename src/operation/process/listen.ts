import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigError } from '../../base/settings';

/** Time for aborted requests to delete the files that they have stored. */
const abortedRequestMilliseconds = 1_000;

/** Starts to listen. @returns the address, for this machine. @throws ConfigError that names the wrong setting */
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

/** Accepts no more connections, waits for requests in progress, and aborts them after `shutdownSeconds`. */
export async function drain(server: Server, ended: Promise<void>, shutdownSeconds: number): Promise<void> {
  server.close();
  server.closeIdleConnections();
  await Promise.race([ended, sleep(shutdownSeconds * 1000, undefined, { ref: false })]);
  server.closeAllConnections();
  await Promise.race([ended, sleep(abortedRequestMilliseconds, undefined, { ref: false })]);
}
