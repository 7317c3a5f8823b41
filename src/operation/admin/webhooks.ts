import { InvalidArgumentError, type Command } from 'commander';
import document from '../../../generated/openapi.json';
import { loadConfig } from '../../config';
import type { Database } from '../../base/db/database';
import { partnerExists } from '../../catalog/partners/partners.repository';
import { storedPartnerName } from '../../catalog/partners/stored-partner-name';
import {
  deleteEndpoint,
  disableEndpoint,
  enableEndpoint,
  insertEndpoint,
  listEndpoints,
  pauseEndOf,
  type EndpointRow,
} from '../../webhooks/endpoints.repository';
import { generateWebhookSecret } from '../../webhooks/webhook-secrets';
import type { EventType } from '../../base/db/outbox';
import { PrivateAddressError } from '../../base/public-address';
import { parseWebhookUrl } from '../../webhooks/webhook-url';
import { endpointIdArgument, partnerNameArgument } from './arguments';
import { withDatabase } from './context';
import { addDeliveries } from './deliveries';
import { printLine, printNote, printTable } from './output';

/** The event types to choose from, in the order of the document; the operator sends `webhook.ping` to any endpoint. */
const eventTypes = (Object.keys(document['x-webhooks']) as EventType[]).filter(
  (type) => type !== 'webhook.ping',
);

export function addWebhooks(program: Command): void {
  const webhooks = program.command('webhooks').description('manage webhooks and their deliveries');
  webhooks
    .command('create')
    .description('deliver events to a URL, and print the secret that signs them: it is shown only once')
    .argument('<URL>', 'the address of the receiver')
    .option('--partner <PARTNER>', 'deliver only the events of this partner', partnerNameArgument)
    .option(
      '--events <TYPES>',
      `only these types, separated by commas: ${eventTypes.join(', ')}`,
      eventTypeList,
    )
    .action(async (text: string, { partner = null, events = null }: CreateOptions, command: Command) => {
      const config = loadConfig(process.env);
      const url = urlOf(text, config.webhookPrivateAddresses, command);
      await withDatabase(async ({ db }) => {
        const partner_name = partner && (await storedPartnerName(db, partner));
        await create(db, { url, partner_name, event_types: events });
      }, config);
    });
  webhooks
    .command('list')
    .description('list all webhooks, disabled ones too, with their last failure')
    .action(() => withDatabase(({ db }) => list(db)));
  for (const { name, description, change, done } of changes) {
    webhooks
      .command(name)
      .description(description)
      .argument('<ID>', 'the number of the webhook, see list', endpointIdArgument)
      .action((id: number) =>
        withDatabase(async ({ db }) => {
          if (!(await change(db, id))) throw new Error(`There is no webhook ${id}.`);
          printNote(`Webhook ${id} ${done}.`);
        }),
      );
  }
  addDeliveries(webhooks);
}

interface CreateOptions {
  partner?: string | null;
  events?: EventType[] | null;
}

const changes = [
  {
    name: 'disable',
    description: 'stop deliveries; pending ones are discarded',
    change: (db: Database, id: number) => disableEndpoint(db, id),
    done: 'is disabled, and gets no more events',
  },
  {
    name: 'enable',
    description: 'deliver events from now on; ends a pause too',
    change: enableEndpoint,
    done: 'is enabled, and gets events from now on',
  },
  { name: 'remove', description: 'remove a webhook', change: deleteEndpoint, done: 'is removed' },
];

/** @throws UsageError */
function urlOf(text: string, privateAddresses: boolean, command: Command): string {
  try {
    return parseWebhookUrl(text, { allowsHttp: privateAddresses, privateAddresses });
  } catch (error) {
    const { message } = error as Error;
    const hint = error instanceof PrivateAddressError ? '; see PRIVATE_ADDRESSES.' : '';
    return command.error(`Wrong URL: ${message}${hint}`);
  }
}

function eventTypeList(text: string): EventType[] {
  const given = new Set(text.split(',').map((type) => type.trim()));
  const unknown = [...given].filter((type) => !(eventTypes as string[]).includes(type));
  if (unknown.length > 0) throw new InvalidArgumentError(`Unknown event: ${unknown.join(', ') || "''"}`);
  return eventTypes.filter((type) => given.has(type));
}

/** Prints only the secret to standard output, for scripts. */
async function create(
  db: Database,
  endpoint: Pick<EndpointRow, 'url' | 'partner_name' | 'event_types'>,
): Promise<void> {
  const secret = generateWebhookSecret();
  const id = await insertEndpoint(db, { ...endpoint, secret });
  printLine(secret);
  const { partner_name: partner, event_types: types } = endpoint;
  const isNew = partner !== null && !(await partnerExists(db, partner));
  printNote(
    `This is the secret of webhook ${id}, with which the receiver verifies the signatures. Keep it now: it cannot be shown again.\n` +
      `It gets ${types?.join(', ') ?? 'all events'} of ${partner === null ? 'all partners' : `partner ${partner}`}.` +
      (isNew ? '\nThere is no feed of this partner yet.' : ''),
  );
}

async function list(db: Database): Promise<void> {
  const endpoints = await listEndpoints(db);
  printTable([
    ['ID', 'URL', 'PARTNER', 'NAME', 'EVENTS', 'CREATED', 'STATE', 'DISCARDED', 'LAST FAILURE'],
    ...endpoints.map((endpoint) => [
      String(endpoint.webhook_endpoint_id),
      endpoint.url,
      endpoint.partner_name ?? '(all)',
      endpoint.webhook_name ?? '(none)',
      endpoint.event_types?.join(',') ?? '(all)',
      endpoint.created_at.toISOString(),
      stateOf(endpoint),
      String(endpoint.given_up),
      endpoint.failed_at === null
        ? '(none)'
        : `${endpoint.failed_at.toISOString()} ${endpoint.failure_reason}`,
    ]),
  ]);
}

function stateOf(endpoint: EndpointRow): string {
  const { disabled_at, disabled_reason, failures_in_a_row } = endpoint;
  if (disabled_at !== null) {
    return `disabled ${disabled_at.toISOString()}${disabled_reason === null ? '' : `: ${disabled_reason}`}`;
  }
  if (failures_in_a_row > 0) return `failing, ${failures_in_a_row} in a row`;
  const pauseEnd = pauseEndOf(endpoint);
  return pauseEnd ? `paused until ${pauseEnd.toISOString()}` : 'in use';
}
