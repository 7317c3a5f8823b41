import type { components } from '../../generated/openapi';
import type { Database } from '../db/database';
import { defaulted, type Checks, type Handlers } from '../http/contract';
import { formatId } from '../shared/ids';
import { requireNameCursor } from '../shared/pagination';
import { getPartner, listPartners, type PartnerRow } from './partners.repository';

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

function partnerBody(partner: PartnerRow): components['schemas']['Partner'] {
  return {
    partner_name: partner.partner_name,
    products: partner.products,
    feeds: partner.feeds,
    last_feed_id: partner.last_feed_id === null ? null : formatId('FD', partner.last_feed_id),
    last_completed_at: partner.last_completed_at?.toISOString() ?? null,
  };
}
