import type { Database } from '../db/database';
import { defaulted, type Checks, type Handlers } from '../http/contract';
import { requireNameCursor } from '../shared/pagination';
import { partnerBody } from './partners.body';
import { getPartner, listPartners } from './partners.repository';

/** Handles the operations that read partners. */
export function partnerHandlers(db: Database): Pick<Handlers, 'listPartners' | 'getPartner'> {
  return {
    async listPartners({ query, caller, reply }) {
      const page = await listPartners(db, {
        scope: caller.partnerName,
        prefix: query.q?.normalize('NFC'),
        after: query.cursor,
        limit: defaulted(query.limit),
      });
      return reply(200, {
        count: page.items.length,
        items: page.items.map(partnerBody),
        next_cursor: page.nextCursor,
      });
    },

    async getPartner({ path, caller, reply }) {
      return reply(200, partnerBody(await getPartner(db, path.partner_name, caller.partnerName)));
    },
  };
}

export const partnerChecks = {
  listPartners({ query: { cursor } }) {
    requireNameCursor(cursor);
  },
} satisfies Checks;
