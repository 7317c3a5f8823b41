import type { DatabaseAddress } from '../db/database';
import type { Handlers } from '../http/contract';
import { isDatabaseReachable } from './health.service';

/** The operation that looks at the database of this address. */
export function healthHandlers(address: DatabaseAddress): Pick<Handlers, 'getHealth'> {
  return {
    async getHealth({ reply }) {
      return (await isDatabaseReachable(address))
        ? reply(200, { status: 'ok', database: 'connected' })
        : reply(200, { status: 'error', database: 'unreachable' });
    },
  };
}
