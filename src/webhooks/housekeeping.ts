import { inBatches } from '../base/concurrency/batches';
import { startPeriodicTask } from '../base/concurrency/periodic-task';
import { recordDiscarded, type DeliveryContext } from './deliver';
import {
  discardedPerStatement,
  discardOldDeliveries,
  dropDeliveries,
  listUnwantedDeliveries,
} from './deliveries.repository';
import { removeOldOutcomes } from './outcomes.repository';

type HousekeepingContext = Pick<DeliveryContext, 'db' | 'log' | 'observe'>;

const housekeepingMilliseconds = 10_000;

/**
 * Starts to discard deliveries and to remove old outcomes, each periodically.
 * @param context - `db`: not the pool that claims deliveries, which must not wait for a batch
 * @returns stops both
 */
export function startWebhookHousekeeping(
  context: HousekeepingContext,
  milliseconds = housekeepingMilliseconds,
): () => Promise<unknown> {
  const start = (what: string, run: (signal: AbortSignal) => Promise<void>) =>
    startPeriodicTask({
      milliseconds,
      run,
      onError: (error) => context.log.warn({ err: error }, `failed to ${what}`),
    });
  const tasks = [
    start('discard webhook deliveries', (signal) => discardDeliveries(context, signal)),
    start('remove outcomes of webhook deliveries', (signal) =>
      inBatches(signal, () => removeOldOutcomes(context.db)),
    ),
  ];
  return () => Promise.all(tasks.map((task) => task.stop()));
}

/**
 * Discards deliveries of disabled and removed endpoints, and old ones of paused endpoints: in turn, a batch of each endpoint.
 * A failing endpoint delays no other. Safe concurrently.
 */
export async function discardDeliveries(context: HousekeepingContext, signal?: AbortSignal): Promise<void> {
  const { db, log } = context;
  await inBatches(signal, async () => {
    let hasMore = false;
    for (const { endpointId, isPaused } of await listUnwantedDeliveries(db)) {
      if (signal?.aborted) return false;
      try {
        const discarded = isPaused
          ? await discardOld(endpointId, context)
          : await dropDeliveries(db, endpointId);
        hasMore ||= discarded === discardedPerStatement;
      } catch (error) {
        log.warn({ err: error, endpoint_id: endpointId }, 'failed to discard webhook deliveries');
      }
    }
    return hasMore;
  });
}

async function discardOld(endpointId: number, context: HousekeepingContext): Promise<number> {
  const messageIds = await discardOldDeliveries(context.db, endpointId);
  if (messageIds.length > 0) await recordDiscarded(endpointId, messageIds, context);
  return messageIds.length;
}
