import type { Database } from '../base/db/database';
import { defaulted, type OperationsOf } from '../http/contract/contract';
import { invalidCursor, webhookNotFound } from '../base/errors';
import { toListBody, toPage } from '../base/pagination';
import { findEndpoint, listEndpoints } from './endpoints.repository';
import { listDeliveries } from './outcomes.repository';
import { deliveryBody, webhookBody } from './webhooks.body';

/** The operations that read webhooks and their deliveries. */
export function webhookOperations(db: Database): OperationsOf<'listWebhooks' | 'listWebhookDeliveries'> {
  return {
    listWebhooks: {
      check({ query: { cursor } }) {
        if (cursor === undefined || cursor === '') return;
        if (typeof cursor !== 'string' || parseEndpointId(cursor) === undefined) throw invalidCursor();
      },
      async handle({ query, caller, reply }) {
        const limit = defaulted(query.limit);
        const endpoints = await listEndpoints(db, {
          scope: caller.partnerName,
          after: parseEndpointId(query.cursor ?? '0'),
          // One more shows whether there is a next page.
          limit: limit + 1,
        });
        const page = toPage(endpoints, limit, ({ webhook_endpoint_id: id }) => String(id));
        return reply(200, toListBody(page, webhookBody));
      },
    },

    listWebhookDeliveries: {
      check({ query: { cursor } }) {
        if (cursor !== undefined && (typeof cursor !== 'string' || cursor.includes('\0')))
          throw invalidCursor();
      },
      async handle({ path, query, caller, reply }) {
        const limit = defaulted(query.limit);
        const endpointId = parseEndpointId(path.webhook_id);
        const endpoint = endpointId === undefined ? undefined : await findEndpoint(db, endpointId);
        const { partnerName: scope } = caller;
        if (!endpoint || (scope !== null && scope !== endpoint.partner_name)) throw webhookNotFound();
        const deliveries = await listDeliveries(db, endpoint.webhook_endpoint_id, {
          after: query.cursor,
          limit: limit + 1,
        });
        if (!deliveries) throw invalidCursor();
        const page = toPage(deliveries, limit, ({ message_id: id }) => id);
        return reply(200, toListBody(page, deliveryBody));
      },
    },
  };
}

/** Parses the number of an endpoint; undefined for another text. */
function parseEndpointId(text: string): number | undefined {
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}
