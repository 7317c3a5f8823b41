import type { Database } from '../db/database';
import { inTransaction } from '../db/transaction';
import { insertSlots, lockDueSources, type DueSource } from './fetches.repository';
import { nextSlot, type Schedule } from './schedule';

/** Starts are spread over this time: schedules of many sources name the same minute. */
const spreadSeconds = 60;

/** Sources that one transaction schedules. */
const sourcesPerBatch = 500;

/** Finds the next time of a schedule; null without one, or while it does not apply. */
export function nextSlotOf(
  { schedule, enabled }: { schedule?: Schedule | null; enabled: boolean },
  after: Date,
): Date | null {
  return schedule && enabled ? nextSlot(schedule, after) : null;
}

/**
 * Queues a fetch for each source that is due: one, however many slots were missed. Safe concurrently in several processes.
 * @param now - default: by the clock of the database, which all processes share
 * @returns the number of sources
 */
export async function scheduleDue(
  db: Database,
  { now, spread = spreadSeconds }: { now?: Date; spread?: number } = {},
): Promise<number> {
  const time = now ?? (await databaseTime(db));
  let scheduled = 0;
  for (let batch = sourcesPerBatch; batch === sourcesPerBatch; scheduled += batch) {
    batch = await inTransaction(db, 'request', async (trx) => {
      const due = await lockDueSources(trx, time, sourcesPerBatch);
      if (due.length > 0) {
        await insertSlots(
          trx,
          due.map((source) => slotOf(source, time, spread)),
          time,
        );
      }
      return due.length;
    });
  }
  return scheduled;
}

function slotOf({ source_id, slot_at, definition }: DueSource, now: Date, spread: number) {
  return {
    sourceId: source_id,
    slotAt: slot_at,
    nextSlotAt: nextSlotOf(definition, now),
    startAt: new Date(now.getTime() + Math.random() * spread * 1000),
  };
}

async function databaseTime(db: Database): Promise<Date> {
  const { rows } = await db.raw<{ rows: [{ now: Date }] }>('select clock_timestamp() as now');
  return rows[0].now;
}
