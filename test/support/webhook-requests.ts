import type { ApiClient, ApiResponse } from './api-client';

export const webhookPath = (partnerName: string, webhookName: string) =>
  `/partners/${encodeURIComponent(partnerName)}/webhooks/${encodeURIComponent(webhookName)}`;

/** Creates or replaces a webhook of a partner. @param query - such as `?rotate_secret=true` */
export const putWebhook = (
  api: ApiClient,
  partnerName: string,
  webhookName: string,
  definition: object,
  query = '',
): Promise<ApiResponse> => api.put(webhookPath(partnerName, webhookName) + query, definition);
