import type { components } from '../../generated/openapi';
import type { Database } from '../base/db/database';
import { defaulted, type OperationsOf } from '../http/contract/contract';
import { requireAllPartners } from '../base/caller';
import { requireNameCursor, toListBody, toPage } from '../base/pagination';
import { countQueue, type PartnerQueueRow } from './queue/queue-state.repository';

export function queueOperations(db: Database): OperationsOf<'getQueue'> {
  return {
    getQueue: {
      check: ({ query }) => requireNameCursor(query.cursor),
      async handle({ query, caller, reply }) {
        requireAllPartners(caller);
        const limit = defaulted(query.limit);
        // One more shows whether there is a next page.
        const { total, partners } = await countQueue(db, { after: query.cursor, limit: limit + 1 });
        const page = toPage(partners, limit, ({ partner_name: name }) => name);
        return reply(200, {
          ...numbersOf(total),
          ...toListBody(page, (partner) => ({ partner_name: partner.partner_name, ...numbersOf(partner) })),
        });
      },
    },
  };
}

const numbersOf = ({
  waiting,
  running,
  oldest_requested_at: oldest,
}: Omit<PartnerQueueRow, 'partner_name'>): Omit<components['schemas']['PartnerQueue'], 'partner_name'> => ({
  waiting,
  running,
  oldest_requested_at: oldest?.toISOString() ?? null,
});
