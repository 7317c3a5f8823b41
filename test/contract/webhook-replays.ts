import type { ApiClient, ApiResponse } from '../support/api-client';
import { localhostCertificate, trustLocalhost } from '../support/network';
import { startTestService, type TestService } from '../support/service';
import { putWebhook, webhookPath } from '../support/webhook-requests';
import { startReceiver } from '../support/webhooks';

const partnerName = 'Acme Outdoor';
const path = webhookPath(partnerName, 'job-events');
const unknown = webhookPath(partnerName, 'unknown');
const ofUnknownPartner = webhookPath('Unknown', 'unknown');
const definition = {
  url: 'https://hooks.acme.example/catalog',
  event_types: ['job.completed', 'job.failed'],
};
const day = '?from=2026-03-01T00:00:00Z&to=2026-03-02T00:00:00Z';

const put = (api: ApiClient, query = '') => putWebhook(api, partnerName, 'job-events', definition, query);

async function afterPut(api: ApiClient, send: () => Promise<ApiResponse>): Promise<ApiResponse> {
  await put(api);
  return send();
}

/** A service of the examples, and its client. */
interface Served {
  service: TestService;
  api: ApiClient;
}

/** Replays of the examples of operations on webhooks of partners. */
export const webhookReplays: Record<string, (state: Served) => Promise<ApiResponse>> = {
  'getWebhook 200 example': ({ api }) => afterPut(api, () => api.get(path)),
  'getWebhook 404 unknown_webhook': ({ api }) => api.get(unknown),
  'getWebhook 404 unknown_partner': ({ api }) => api.get(ofUnknownPartner),
  'replaceWebhook 201 created': async ({ api }) => {
    await api.send('DELETE', path);
    return put(api);
  },
  'replaceWebhook 200 replaced': ({ api }) => afterPut(api, () => put(api)),
  'replaceWebhook 200 rotated': ({ api }) => afterPut(api, () => put(api, '?rotate_secret=true')),
  'replaceWebhook 400 malformed_json': ({ api }) =>
    api.send('PUT', path, { headers: { 'content-type': 'application/json' }, body: '{' }),
  'replaceWebhook 409 example': async ({ service, api }) => {
    await api.send('DELETE', path);
    for (let at = 0; at < 10; at++) await putWebhook(api, partnerName, `many-${at}`, definition);
    const response = await put(api);
    await service.db('webhook_endpoints').whereLike('webhook_name', 'many-%').delete();
    return response;
  },
  'replaceWebhook 422 faults': ({ api }) =>
    putWebhook(api, partnerName, 'job-events', { url: 'http://hooks.acme.example/catalog' }),
  'replaceWebhook 422 no_secrets_key': async () => put((await startTestService({ secretBox: null })).api),
  'replaceWebhook 422 no_body': ({ api }) => api.send('PUT', path),
  'deleteWebhook 200 example': ({ api }) => afterPut(api, () => api.send('DELETE', path)),
  'deleteWebhook 404 unknown_webhook': ({ api }) => api.send('DELETE', unknown),
  'deleteWebhook 404 unknown_partner': ({ api }) => api.send('DELETE', ofUnknownPartner),
  'pingWebhook 200 accepted': async ({ service, api }) => {
    trustLocalhost();
    const receiver = await startReceiver({ tls: localhostCertificate });
    await putWebhook(api, partnerName, 'local', { url: receiver.url });
    receiver.secret = (
      await putWebhook(api, partnerName, 'local', { url: receiver.url }, '?rotate_secret=true')
    ).body.secret as string;
    const response = await api.post(`${webhookPath(partnerName, 'local')}/ping`);
    await service.db('webhook_endpoints').where('webhook_name', 'local').delete();
    return response;
  },
  'pingWebhook 200 no_response': async ({ api }) => {
    await putWebhook(api, partnerName, 'job-events', { url: 'https://127.0.0.1:1/' });
    return api.post(`${path}/ping`);
  },
  'pingWebhook 422 unreadable_secret': async ({ service, api }) => {
    await put(api);
    const sealed = { sealed_secret: Buffer.alloc(60) };
    await service.db('webhook_endpoints').where('webhook_name', 'job-events').update(sealed);
    const response = await api.post(`${path}/ping`);
    await api.send('DELETE', path);
    return response;
  },
  'pingWebhook 404 unknown_webhook': ({ api }) => api.post(`${unknown}/ping`),
  'pingWebhook 404 unknown_partner': ({ api }) => api.post(`${ofUnknownPartner}/ping`),
  'pauseWebhook 200 example': ({ api }) => afterPut(api, () => api.post(`${path}/pause`)),
  'pauseWebhook 404 unknown_webhook': ({ api }) => api.post(`${unknown}/pause`),
  'pauseWebhook 404 unknown_partner': ({ api }) => api.post(`${ofUnknownPartner}/pause`),
  'pauseWebhook 422 too_long': ({ api }) => api.post(`${path}/pause?seconds=100000`),
  'replayWebhook 200 example': ({ api }) => afterPut(api, () => api.post(`${path}/replay${day}`)),
  'replayWebhook 404 unknown_webhook': ({ api }) => api.post(`${unknown}/replay${day}`),
  'replayWebhook 404 unknown_partner': ({ api }) => api.post(`${ofUnknownPartner}/replay${day}`),
  'replayWebhook 409 example': async ({ service, api }) => {
    await put(api);
    const disabled = { disabled_at: new Date(), disabled_reason: 'it responded with 410' };
    await service.db('webhook_endpoints').where('webhook_name', 'job-events').update(disabled);
    return api.post(`${path}/replay${day}`);
  },
  'replayWebhook 422 too_long': ({ api }) =>
    api.post(`${path}/replay?from=2026-03-01T00:00:00Z&to=2026-03-03T00:00:00Z`),
  'replayWebhook 422 missing': ({ api }) => api.post(`${path}/replay?to=2026-03-02T00:00:00Z`),
};
