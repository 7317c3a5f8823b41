import { randomBytes } from 'node:crypto';
import { InvalidArgumentError, type Command } from 'commander';
import document from '../../generated/openapi.json';
import { loadConfig } from '../config';
import type { Database } from '../db/database';
import { partnerExists } from '../feeds/feeds.repository';
import { storedPartnerName } from '../partners/stored-partner-name';
import {
  deleteEndpoint,
  disableEndpoint,
  enableEndpoint,
  insertEndpoint,
  listEndpoints,
  type EndpointRow,
} from '../webhooks/endpoints.repository';
import type { EventType } from '../events/outbox';
import { requirePublicHost } from '../webhooks/public-address';
import { partnerNameArgument } from './arguments';
import { withDatabase } from './context';
import { printTable } from './table';

/** All of them, in the order of the document. */
const eventTypes = Object.keys(document['x-webhooks']) as EventType[];

/** Standard Webhooks wants 24 to 64 bytes. */
const secretBytes = 32;
const urlCharactersMax = 2_000;

/** Adds the group of commands that manage webhooks. */
export function addWebhooks(program: Command, { hidden = false } = {}): void {
  const webhooks = program
    .command('webhooks', { hidden })
    .description('create, list, disable, enable and remove webhooks');
  webhooks
    .command('create')
    .description('deliver events to a URL, and print the secret that signs them: it is shown only this once')
    .argument('<URL>', 'the address of the receiver')
    .option('--partner <PARTNER>', 'deliver only the events of this partner', partnerNameArgument)
    .option(
      '--events <TYPES>',
      `only these types, separated by commas: ${eventTypes.join(', ')}`,
      eventTypeList,
    )
    .action(async (text: string, { partner = null, events = null }: CreateOptions, command: Command) => {
      const config = loadConfig(process.env);
      const url = parseWebhookUrl(text, config.webhookPrivateAddresses, command);
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
      .argument('<ID>', 'the number of the webhook, see list', endpointId)
      .action((id: number) =>
        withDatabase(async ({ db }) => {
          if (!(await change(db, id))) throw new Error(`There is no webhook ${id}.`);
          process.stderr.write(`Webhook ${id} ${done}.\n`);
        }),
      );
  }
}

interface CreateOptions {
  partner?: string | null;
  events?: EventType[] | null;
}

const changes = [
  {
    name: 'disable',
    description: 'deliver nothing more; pending deliveries are dropped',
    change: (db: Database, id: number) => disableEndpoint(db, id),
    done: 'is disabled: nothing more is sent to it',
  },
  {
    name: 'enable',
    description: 'deliver events from now on, also after too many failures',
    change: enableEndpoint,
    done: 'is enabled: it gets the events from now on',
  },
  { name: 'remove', description: 'remove a webhook', change: deleteEndpoint, done: 'is removed' },
];

/**
 * The address of a receiver, as it will be used. A name that leads to a private address shows only when something is sent.
 * @throws UsageError
 */
function parseWebhookUrl(text: string, privateAddresses: boolean, command: Command): string {
  const protocols = privateAddresses ? ['https:', 'http:'] : ['https:'];
  const wrong = (what: string) => command.error(`Wrong URL: ${what}`);
  if (text.length > urlCharactersMax || !URL.canParse(text)) {
    return wrong('it must be one such as https://partner.example.org/events.');
  }
  const url = new URL(text);
  if (!protocols.includes(url.protocol)) {
    wrong('it must be https, or http where WEBHOOK_PRIVATE_ADDRESSES is on.');
  }
  if (url.username || url.password) {
    wrong('it must have no name and no password; the signature says who sends.');
  }
  if (url.hash) wrong('what follows # is never sent.');
  try {
    if (!privateAddresses) requirePublicHost(url);
  } catch (error) {
    wrong(`${(error as Error).message}; see WEBHOOK_PRIVATE_ADDRESSES.`);
  }
  return url.href;
}

function eventTypeList(text: string): EventType[] {
  const given = new Set(text.split(',').map((type) => type.trim()));
  const unknown = [...given].filter((type) => !(eventTypes as string[]).includes(type));
  if (unknown.length > 0) throw new InvalidArgumentError(`Unknown event: ${unknown.join(', ') || "''"}`);
  return eventTypes.filter((type) => given.has(type));
}

function endpointId(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new InvalidArgumentError('Wrong ID: it must be a number of webhooks list.');
  return Number(text);
}

/** The secret alone goes to standard output, where a script can take it. */
async function create(
  db: Database,
  endpoint: Pick<EndpointRow, 'url' | 'partner_name' | 'event_types'>,
): Promise<void> {
  const secret = `whsec_${randomBytes(secretBytes).toString('base64')}`;
  const id = await insertEndpoint(db, { ...endpoint, secret });
  process.stdout.write(`${secret}\n`);
  const { partner_name: partner, event_types: types } = endpoint;
  const isNew = partner !== null && !(await partnerExists(db, partner));
  process.stderr.write(
    `This is the secret of webhook ${id}, with which the receiver verifies the signatures. Keep it now: it cannot be shown again.\n` +
      `It gets ${types?.join(', ') ?? 'all events'} of ${partner === null ? 'all partners' : `partner ${partner}`}.\n` +
      (isNew ? 'There is no feed of this partner yet.\n' : ''),
  );
}

async function list(db: Database): Promise<void> {
  const endpoints = await listEndpoints(db);
  printTable([
    ['ID', 'URL', 'PARTNER', 'EVENTS', 'CREATED', 'STATE', 'GIVEN UP', 'LAST FAILURE'],
    ...endpoints.map((endpoint) => [
      String(endpoint.webhook_endpoint_id),
      endpoint.url,
      endpoint.partner_name ?? '(all)',
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

function stateOf({ disabled_at, disabled_reason, failures_in_a_row }: EndpointRow): string {
  if (disabled_at !== null) {
    return `disabled ${disabled_at.toISOString()}${disabled_reason === null ? '' : `: ${disabled_reason}`}`;
  }
  return failures_in_a_row === 0 ? 'in use' : `failing, ${failures_in_a_row} in a row`;
}
