import { randomBytes } from 'node:crypto';
import document from '../../generated/openapi.json';
import { printTable, UsageError } from '../command';
import type { Config } from '../config';
import type { Database } from '../db/database';
import { partnerExists } from '../feeds/feeds.repository';
import {
  deleteEndpoint,
  disableEndpoint,
  enableEndpoint,
  insertEndpoint,
  listEndpoints,
  type EndpointRow,
} from './endpoints.repository';
import type { EventType } from './outbox';
import { requirePublicHost } from './public-address';

/** All of them, in the order of the document. */
export const eventTypes = Object.keys(document['x-webhooks']) as EventType[];

/** What the options of a command say. */
interface WebhookOptions {
  /** null: all partners. */
  partnerName: string | null;
  /** Separated by commas; absent: all. */
  events?: string;
}

/** Standard Webhooks wants 24 to 64 bytes. */
const secretBytes = 32;
const urlCharactersMax = 2_000;

const changes = {
  disable: { change: disableEndpoint, done: 'is disabled: nothing more is sent to it' },
  enable: { change: enableEndpoint, done: 'is enabled: it gets the events from now on' },
  remove: { change: deleteEndpoint, done: 'is removed' },
};

/** What `webhooks` and these arguments ask for. @throws UsageError */
export function parseWebhookCommand(
  [command, argument, ...more]: string[],
  { partnerName, events }: WebhookOptions,
  { webhookPrivateAddresses }: Pick<Config, 'webhookPrivateAddresses'>,
): (db: Database) => Promise<void> {
  if (more.length > 0) throw new UsageError(`Too many arguments: ${more.join(' ')}`);
  if (command !== 'create' && (partnerName !== null || events !== undefined)) {
    throw new UsageError('--partner and --events belong to create.');
  }
  switch (command) {
    case 'create': {
      const url = parseWebhookUrl(argument, webhookPrivateAddresses);
      const types = events === undefined ? null : parseEventTypes(events);
      return (db) => create(db, { url, partner_name: partnerName, event_types: types });
    }
    case 'list':
      if (argument !== undefined) throw new UsageError(`Too many arguments: ${argument}`);
      return list;
    case 'disable':
    case 'enable':
    case 'remove': {
      const { change, done } = changes[command];
      const id = parseEndpointId(argument);
      return async (db) => {
        if (!(await change(db, id))) throw new Error(`There is no webhook ${id}.`);
        process.stderr.write(`Webhook ${id} ${done}.\n`);
      };
    }
    default:
      throw new UsageError(
        command === undefined ? 'What is to be done with webhooks?' : `Unknown command: webhooks ${command}`,
      );
  }
}

/**
 * The address of a receiver, as it will be used. A name that leads to a private address shows only when something is sent.
 * @throws UsageError
 */
function parseWebhookUrl(text: string | undefined, privateAddresses: boolean): string {
  const protocols = privateAddresses ? ['https:', 'http:'] : ['https:'];
  if (text === undefined || text.length > urlCharactersMax || !URL.canParse(text)) {
    throw new UsageError('A webhook has a URL such as https://partner.example.org/events.');
  }
  const url = new URL(text);
  const wrong = (what: string) => new UsageError(`Wrong URL: ${what}`);
  if (!protocols.includes(url.protocol)) {
    throw wrong('it must be https, or http where WEBHOOK_PRIVATE_ADDRESSES is on.');
  }
  if (url.username || url.password)
    throw wrong('it must have no name and no password; the signature says who sends.');
  if (url.hash) throw wrong('what follows # is never sent.');
  try {
    if (!privateAddresses) requirePublicHost(url);
  } catch (error) {
    throw wrong(`${(error as Error).message}; see WEBHOOK_PRIVATE_ADDRESSES.`);
  }
  return url.href;
}

function parseEventTypes(text: string): EventType[] {
  const given = new Set(text.split(',').map((type) => type.trim()));
  const unknown = [...given].filter((type) => !(eventTypes as string[]).includes(type));
  if (unknown.length > 0) throw new UsageError(`Unknown event: ${unknown.join(', ') || "''"}`);
  return eventTypes.filter((type) => given.has(type));
}

function parseEndpointId(text: string | undefined): number {
  if (text === undefined || !/^[1-9]\d{0,8}$/.test(text))
    throw new UsageError('A webhook has a number; see webhooks list.');
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
    `This is the secret of webhook ${id}, for whoever verifies what it gets. Keep it now: it cannot be shown again.\n` +
      `It is told of ${types?.join(', ') ?? 'everything'} of ${partner === null ? 'all partners' : `partner ${partner}`}.\n` +
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
