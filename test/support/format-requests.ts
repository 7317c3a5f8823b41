import type { ApiClient, ApiResponse } from './api-client';

/** The smallest valid definition. */
export const minimal = { columns: { sku: { from: ['Nr'] }, product_name: { from: ['Name'] } } };

export const formatPath = (partnerName: string, formatName: string) =>
  `/partners/${encodeURIComponent(partnerName)}/formats/${encodeURIComponent(formatName)}`;

export const putFormat = (
  api: ApiClient,
  partnerName: string,
  formatName: string,
  definition: unknown = minimal,
): Promise<ApiResponse> => api.put(formatPath(partnerName, formatName), definition);

export const isoTime = expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/) as string;
