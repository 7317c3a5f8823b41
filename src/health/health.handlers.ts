import type { DatabaseAddress } from '../db/database';
import type { Handlers } from '../http/contract';
import { isDatabaseReachable } from './health.service';

/** The operation that looks at the database of this address. */
export function healthHandlers(address: DatabaseAddress): Pick<Handlers, 'getHealth'> {
  // Whoever asks meanwhile shares the answer: no number of callers, who need no key, opens more than one connection.
  let look: Promise<boolean> | undefined;
  const isReachable = () => (look ??= isDatabaseReachable(address).finally(() => (look = undefined)));
  return {
    async getHealth({ reply }) {
      return (await isReachable())
        ? reply(200, { status: 'ok', database: 'connected' })
        : reply(200, { status: 'error', database: 'unreachable' });
    },
  };
}
