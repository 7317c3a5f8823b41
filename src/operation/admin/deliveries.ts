import { setTimeout as sleep } from 'node:timers/promises';
import { InvalidArgumentError, type Command } from 'commander';
import type { Database } from '../../base/db/database';
import { findEndpoint, type EndpointRow } from '../../webhooks/endpoints.repository';
import {
  findOutcome,
  insertPing,
  listDeliveries,
  replayDeliveries,
  webhookOutcomeDays,
  type ReplaySelection,
} from '../../webhooks/outcomes.repository';
import { endpointIdArgument, timeArgument } from './arguments';
import { withDatabase } from './context';
import { printJson, printLine, printNote, printTable } from './output';

/** Timeout of a ping: an attempt takes 15 s at most, after up to a second in the queue. */
const pingSeconds = 30;
const pollMilliseconds = 250;

export function addDeliveries(webhooks: Command): void {
  webhooks
    .command('ping')
    .description('send a signed test event, and print the status of the response')
    .argument('<ID>', 'the number of the webhook, see list', endpointIdArgument)
    .action((id: number) => withDatabase(({ db }) => ping(db, id)));
  webhooks
    .command('deliveries')
    .description(
      `list pending deliveries, and deliveries that ended in the last ${webhookOutcomeDays} days, the latest first`,
    )
    .argument('<ID>', 'the number of the webhook, see list', endpointIdArgument)
    .option('--limit <N>', 'show N deliveries at most', limitArgument, 50)
    .option('--json', 'print JSON instead of a table')
    .action((id: number, options: ListOptions) => withDatabase(({ db }) => list(db, id, options)));
  webhooks
    .command('replay')
    .description(
      `deliver events again that were discarded, or delivered, in the last ${webhookOutcomeDays} days`,
    )
    .argument('<ID>', 'the number of the webhook, see list', endpointIdArgument)
    .argument('[MESSAGES...]', 'the ids of the messages, see deliveries')
    .option('--from <TIME>', 'instead of MESSAGES: discarded events from this time on', timeArgument)
    .option('--to <TIME>', 'with --from: before this time', timeArgument)
    .option('--delivered', 'with --from: delivered events too')
    .action(async (id: number, messages: string[], options: RangeOptions, command: Command) => {
      const selection = selectionOf(id, messages, options, command);
      await withDatabase(({ db }) => replay(db, selection));
    });
}

interface ListOptions {
  limit: number;
  json?: boolean;
}

interface RangeOptions {
  from?: Date;
  to?: Date;
  delivered?: boolean;
}

function limitArgument(text: string): number {
  const limit = Number(text);
  if (/^\d+$/.test(text) && limit >= 1 && limit <= 1000) return limit;
  throw new InvalidArgumentError('Wrong --limit: it must be a whole number from 1 to 1000.');
}

/** @throws UsageError */
function selectionOf(
  id: number,
  messages: string[],
  { from, to, delivered = false }: RangeOptions,
  command: Command,
): ReplaySelection {
  const isRange = from !== undefined;
  if (!isRange && messages.length === 0) command.error('Missing argument: MESSAGES, or option --from TIME');
  if (isRange && messages.length > 0) command.error('Only one of MESSAGES and --from TIME can be used');
  if (!isRange && (to !== undefined || delivered)) command.error('Missing option: --from TIME');
  return {
    endpointId: id,
    messageIds: isRange ? null : messages,
    from: from ?? null,
    to: to ?? null,
    // A named message is replayed regardless of its outcome.
    statuses: isRange && !delivered ? ['discarded'] : ['delivered', 'discarded'],
  };
}

/** Sends through the queue, like any event, to test also the worker and its network. */
async function ping(db: Database, id: number): Promise<void> {
  const { paused_until: pausedUntil } = await getEnabledEndpoint(db, id);
  if (pausedUntil && pausedUntil.getTime() > Date.now()) {
    throw new Error(
      `Webhook ${id} is paused until ${pausedUntil.toISOString()} after failures: enable it to end the pause.`,
    );
  }
  const messageId = await insertPing(db, id);
  const deadline = Date.now() + pingSeconds * 1000;
  while (Date.now() < deadline) {
    const ended = await findOutcome(db, id, messageId);
    if (ended?.status === 'delivered') {
      printLine(`Webhook ${id} accepted the test event ${messageId}: ${ended.last_result}.`);
      return;
    }
    if (ended) throw new Error(`Webhook ${id} refused the test event ${messageId}: ${ended.last_result}.`);
    await sleep(pollMilliseconds);
  }
  throw new Error(
    `No worker sent the test event ${messageId} within ${pingSeconds} s. Start the service, or a worker; see deliveries ${id}.`,
  );
}

async function replay(db: Database, selection: ReplaySelection): Promise<void> {
  await getEnabledEndpoint(db, selection.endpointId);
  const count = await replayDeliveries(db, selection);
  if (count === 0) throw new Error(`No such delivery has ended; see deliveries ${selection.endpointId}.`);
  printNote(`Deliveries to webhook ${selection.endpointId} that are due again: ${count}.`);
}

/** @throws if there is no such webhook, or it is disabled: its deliveries would be discarded */
async function getEnabledEndpoint(db: Database, id: number): Promise<EndpointRow> {
  const endpoint = await getEndpoint(db, id);
  if (endpoint.disabled_at !== null) throw new Error(`Webhook ${id} is disabled: enable it first.`);
  return endpoint;
}

async function getEndpoint(db: Database, id: number): Promise<EndpointRow> {
  const endpoint = await findEndpoint(db, id);
  if (!endpoint) throw new Error(`There is no webhook ${id}.`);
  return endpoint;
}

async function list(db: Database, id: number, { limit, json }: ListOptions): Promise<void> {
  await getEndpoint(db, id);
  const deliveries = (await listDeliveries(db, id, { limit }))!;
  if (json) return printJson(deliveries);
  printTable([
    ['MESSAGE', 'EVENT', 'HAPPENED', 'OUTCOME', 'ATTEMPTS', 'LAST RESULT', 'NEXT ATTEMPT', 'ENDED'],
    ...deliveries.map((delivery) => [
      delivery.message_id,
      delivery.event_type,
      delivery.happened_at.toISOString(),
      delivery.status.replace('_', ' '),
      String(delivery.attempts),
      delivery.last_result ?? '(none)',
      delivery.next_attempt_at?.toISOString() ?? '(none)',
      delivery.finished_at?.toISOString() ?? '(none)',
    ]),
  ]);
}
