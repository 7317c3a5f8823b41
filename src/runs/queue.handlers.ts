import type { components } from '../../generated/openapi';
import type { Database } from '../db/database';
import { defaulted, type Checks, type Handlers } from '../http/contract';
import { requireAllPartners } from '../shared/caller';
import { requireNameCursor, toPage } from '../shared/pagination';
import { countQueue, type PartnerQueueRow } from './queue-state.repository';

/** Handles the operation on the queue of runs. */
export function queueHandlers(db: Database): Pick<Handlers, 'getQueue'> {
  return {
    async getQueue({ query, caller, reply }) {
      requireAllPartners(caller);
      const limit = defaulted(query.limit);
      // One more shows whether there is a next page.
      const { total, partners } = await countQueue(db, { after: query.cursor, limit: limit + 1 });
      const page = toPage(partners, limit, ({ partner_name: name }) => name);
      return reply(200, {
        ...numbersOf(total),
        count: page.items.length,
        items: page.items.map((partner) => ({ partner_name: partner.partner_name, ...numbersOf(partner) })),
        next_cursor: page.nextCursor,
      });
    },
  };
}

export const queueChecks = {
  getQueue: ({ query }) => requireNameCursor(query.cursor),
} satisfies Checks;

const numbersOf = ({
  waiting,
  running,
  oldest_requested_at: oldest,
}: Omit<PartnerQueueRow, 'partner_name'>): Omit<components['schemas']['PartnerQueue'], 'partner_name'> => ({
  waiting,
  running,
  oldest_requested_at: oldest?.toISOString() ?? null,
});
