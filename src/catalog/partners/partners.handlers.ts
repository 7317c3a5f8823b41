import type { Database } from '../../base/db/database';
import { defaulted, type OperationsOf } from '../../http/contract/contract';
import { invalidCursor } from '../../base/errors';
import { requireNameCursor, toListBody } from '../../base/pagination';
import { parseAttentionCursor } from './attention';
import { partnerBody } from './partners.body';
import { getPartner, listPartners, listPartnersByAttention } from './partners.repository';

export function partnerOperations(db: Database): OperationsOf<'listPartners' | 'getPartner'> {
  return {
    listPartners: {
      check({ query: { cursor, sort_by: order } }) {
        requireNameCursor(cursor);
        const isPosition = cursor === undefined || parseAttentionCursor(cursor as string) !== undefined;
        if (order === 'attention' && !isPosition) throw invalidCursor();
      },
      async handle({ query, caller, reply }) {
        const { q, cursor, attention } = query;
        const filter = { scope: caller.partnerName, prefix: q?.normalize('NFC'), attention };
        const limit = defaulted(query.limit);
        const page = await (query.sort_by === 'attention'
          ? listPartnersByAttention(db, { ...filter, after: positionOf(cursor), limit })
          : listPartners(db, { ...filter, after: cursor, limit }));
        return reply(200, toListBody(page, partnerBody));
      },
    },

    getPartner: {
      async handle({ path, caller, reply }) {
        return reply(200, partnerBody(await getPartner(db, path.partner_name, caller.partnerName)));
      },
    },
  };
}

const positionOf = (cursor: string | undefined) =>
  cursor === undefined ? undefined : parseAttentionCursor(cursor);
