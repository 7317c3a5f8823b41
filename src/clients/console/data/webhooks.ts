import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { bodyOf, client, type Schemas } from '../api';
import { inDays, type ReplayPeriod } from './replay-period';
import { allItems, usePages } from './queries';

export type Webhook = Schemas['Webhook'];

const fetchWebhooks = (cursor: string | undefined) =>
  bodyOf(client.GET('/webhooks', { params: { query: { cursor, limit: 100 } } }));

export const useWebhooks = () => usePages(['webhooks'], fetchWebhooks);

/** The webhook with this id; null if there is none, or the key may not see it. */
export const useWebhook = (webhookId: string) =>
  useQuery({
    queryKey: ['webhook', webhookId],
    queryFn: async () =>
      (await allItems(fetchWebhooks)).find(({ webhook_id }) => webhook_id === webhookId) ?? null,
  });

const everyMilliseconds = 5_000;
const isOpen = ({ finished_at }: Schemas['WebhookDelivery']) => finished_at === null;

/** The deliveries of the last days, read again while one of them is not finished. */
export const useDeliveries = (webhookId: string) =>
  usePages(
    ['deliveries', webhookId],
    (cursor) =>
      bodyOf(
        client.GET('/webhooks/{webhook_id}/deliveries', {
          params: { path: { webhook_id: webhookId }, query: { cursor, limit: 50 } },
        }),
      ),
    true,
    (pages) => (pages.some(({ items }) => items.some(isOpen)) ? everyMilliseconds : false),
  );

/** A webhook that its partner manages by its name. */
export interface WebhookPath {
  partner_name: string;
  webhook_name: string;
}

/** Returns how the API addresses the webhook; undefined for one of the operator, which has no name. */
export const pathOfWebhook = ({ partner_name, webhook_name }: Webhook): WebhookPath | undefined =>
  partner_name !== null && webhook_name !== null ? { partner_name, webhook_name } : undefined;

export const usePing = (path: WebhookPath) =>
  useMutation({
    mutationFn: () =>
      bodyOf(client.POST('/partners/{partner_name}/webhooks/{webhook_name}/ping', { params: { path } })),
  });

/** Pauses for some seconds; 0 ends the pause. */
export function usePause(path: WebhookPath) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (seconds: number) =>
      bodyOf(
        client.POST('/partners/{partner_name}/webhooks/{webhook_name}/pause', {
          params: { path, query: { seconds } },
        }),
      ),
    onSuccess: (webhook) => {
      queries.setQueryData(['webhook', webhook.webhook_id], webhook);
      void queries.invalidateQueries({ queryKey: ['webhooks'] });
    },
  });
}

export interface ReplayRequest {
  period: ReplayPeriod;
  includesDelivered: boolean;
}

/** Sends the events of a period again. The result is their number. */
export function useReplay(path: WebhookPath) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async ({ period, includesDelivered }: ReplayRequest) => {
      let events = 0;
      for (const { from, to } of inDays(period)) {
        const query = {
          from: from.toISOString(),
          to: to.toISOString(),
          include_delivered: includesDelivered,
        };
        const sent = client.POST('/partners/{partner_name}/webhooks/{webhook_name}/replay', {
          params: { path, query },
        });
        events += (await bodyOf(sent)).count;
      }
      return events;
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: ['deliveries'] }),
  });
}
