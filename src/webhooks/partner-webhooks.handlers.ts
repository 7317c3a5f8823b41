import type { Database } from '../base/db/database';
import { inTransaction } from '../base/db/transaction';
import { holderOf, requirePartner, type PartnerScope } from '../base/caller';
import { ConcurrencyLimit } from '../base/concurrency/concurrency-limit';
import { invalidShape, tooManyWebhooks, webhookDisabled, webhookNotFound } from '../base/errors';
import { requireSecretBox, type SecretBox } from '../base/secret-box';
import { parsePartnerName, partnerNameFaults } from '../catalog/partners/partner-name';
import { getOrInsertPartner, getPartnerId } from '../catalog/partners/partners.repository';
import { storedPartnerName } from '../catalog/partners/stored-partner-name';
import { defaulted, type OperationsOf } from '../http/contract/contract';
import { requireKeyInUse } from '../http/keys/keys.repository';
import { deleteEndpoint, type EndpointRow } from './endpoints.repository';
import {
  findNamedEndpoint,
  insertNamedEndpoint,
  lockNamedEndpoints,
  namedWebhooksMax,
  pauseNamedEndpoint,
  replaceNamedEndpoint,
} from './named-endpoints.repository';
import { replayDeliveries } from './outcomes.repository';
import { pingEndpoint, pingLimits } from './ping';
import { parseWebhookUrl, webhookUrlFaults } from './webhook-url';
import { generateWebhookSecret, sealWebhookSecret } from './webhook-secrets';
import { webhookBody } from './webhooks.body';

/** Longest period of a replay: a longer one would occupy a connection for seconds. */
export const replayMillisecondsMax = 24 * 3600 * 1000;

interface PartnerWebhookOptions {
  /** Absent: partners can have no webhooks. */
  secretBox: SecretBox | undefined;
  privateAddresses: boolean;
  /** Of pings; absent: direct connections. */
  proxy?: URL;
}

/** The operations by which partners manage their webhooks. */
export function partnerWebhookOperations(
  db: Database,
  { secretBox, privateAddresses, proxy }: PartnerWebhookOptions,
): OperationsOf<
  'getWebhook' | 'replaceWebhook' | 'deleteWebhook' | 'pingWebhook' | 'pauseWebhook' | 'replayWebhook'
> {
  const pings = new ConcurrencyLimit({
    capacity: pingLimits.concurrentPings,
    maxPerHolder: pingLimits.concurrentPingsOfPartner,
    what: 'pings of webhooks',
  });
  return {
    getWebhook: {
      async handle({ path, caller, reply }) {
        return reply(200, webhookBody(await getWebhook(db, path, caller.partnerName)));
      },
    },

    replaceWebhook: {
      /** Checks the partner's name, and the rules of a URL that no schema can express. */
      rule: ({ path, body }) => [
        ...partnerNameFaults(path.partner_name),
        ...webhookUrlFaults(body, privateAddresses),
      ],
      async handle({ path, query, body, caller, reply }) {
        // The rule has checked it.
        const partnerName = await storedPartnerName(db, parsePartnerName(path.partner_name) as string);
        requirePartner(caller.partnerName, partnerName);
        const webhookName = path.webhook_name;
        const { webhook, isNew, secret } = await inTransaction(db, 'request', async (trx) => {
          const partnerId = await getOrInsertPartner(trx, partnerName);
          await requireKeyInUse(trx, caller);
          const box = requireSecretBox(secretBox);
          await lockNamedEndpoints(trx, partnerId);
          const stored = await findNamedEndpoint(trx, partnerId, webhookName);
          const secret = !stored || query.rotate_secret ? generateWebhookSecret() : undefined;
          const sealedSecret = secret === undefined ? undefined : sealWebhookSecret(box, secret);
          const event_types = body.event_types ? [...new Set(body.event_types)] : null;
          // The normal form has no control characters, which would reach the terminal of the operator.
          const url = parseWebhookUrl(body.url, { allowsHttp: false, privateAddresses });
          const definition = { url, event_types };
          const webhook = stored
            ? await replaceNamedEndpoint(trx, stored.webhook_endpoint_id, { ...definition, sealedSecret })
            : await insertNamedEndpoint(trx, partnerName, webhookName, {
                ...definition,
                sealedSecret: sealedSecret!,
              });
          if (!webhook) throw tooManyWebhooks(partnerName, namedWebhooksMax);
          return { webhook: webhookBody(webhook), isNew: !stored, secret };
        });
        const shown = secret === undefined ? webhook : { ...webhook, secret };
        return isNew ? reply(201, shown) : reply(200, shown);
      },
    },

    deleteWebhook: {
      async handle({ path, caller, reply }) {
        const webhook = await getWebhook(db, path, caller.partnerName);
        await deleteEndpoint(db, webhook.webhook_endpoint_id);
        return reply(200, webhookBody(webhook));
      },
    },

    pingWebhook: {
      async handle({ path, caller, log, reply }) {
        const webhook = await getWebhook(db, path, caller.partnerName);
        const status = await pings.run(holderOf(caller, path.partner_name), () =>
          pingEndpoint(webhook, { log, secretBox, privateAddresses, proxy }),
        );
        return reply(200, { http_status: status });
      },
    },

    pauseWebhook: {
      async handle({ path, query, caller, reply }) {
        const { webhook_endpoint_id: id } = await getWebhook(db, path, caller.partnerName);
        const paused = await pauseNamedEndpoint(db, id, defaulted(query.seconds));
        if (!paused) throw webhookNotFound();
        return reply(200, webhookBody(paused));
      },
    },

    replayWebhook: {
      async handle({ path, query, caller, reply }) {
        const [from, to] = [new Date(query.from), new Date(query.to)];
        const milliseconds = to.getTime() - from.getTime();
        if (milliseconds <= 0 || milliseconds > replayMillisecondsMax) {
          const msg = 'Input should be later than from, by a day at most';
          throw invalidShape([{ type: 'webhook_period', loc: ['query', 'to'], msg, input: query.to }]);
        }
        const webhook = await getWebhook(db, path, caller.partnerName);
        if (webhook.disabled_at) throw webhookDisabled(path.webhook_name);
        const count = await replayDeliveries(db, {
          endpointId: webhook.webhook_endpoint_id,
          messageIds: null,
          from,
          to,
          statuses: query.include_delivered ? ['delivered', 'discarded'] : ['discarded'],
        });
        return reply(200, { count });
      },
    },
  };
}

/** @throws partner_not_found, webhook_not_found */
async function getWebhook(
  db: Database,
  { partner_name: partnerName, webhook_name: webhookName }: { partner_name: string; webhook_name: string },
  scope: PartnerScope,
): Promise<EndpointRow> {
  const webhook = await findNamedEndpoint(db, await getPartnerId(db, partnerName, scope), webhookName);
  if (!webhook) throw webhookNotFound();
  return webhook;
}
