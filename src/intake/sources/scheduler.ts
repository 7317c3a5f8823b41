import { databaseTime, type Database } from '../../base/db/database';
import { inTransaction } from '../../base/db/transaction';
import type { Log } from '../../base/log';
import { FetchFailure } from './fetch-failure';
import { insertSlots, lockDueSources, type DueSource, type ScheduledSlot } from './fetches.repository';
import { nextSlot, type Schedule } from './schedule';
import { publishSourceFailed } from './sources.repository';

/** Starts are spread over this time: schedules of many sources name the same minute. */
const spreadSeconds = 60;

/** Number of sources that one transaction schedules. */
const sourcesPerBatch = 500;

const minuteMilliseconds = 60_000;

/** Pause before a failed schedule is computed again: another process may know its time zone. */
const retryMilliseconds = 60 * minuteMilliseconds;

/** Offset of a retry beyond a whole minute, which distinguishes it from a slot. */
const retryOffsetMilliseconds = 1_000;

/**
 * Finds the next time of a schedule; null without one, or while it does not apply.
 * @param after - by the clock of the database, which decides when a slot is due
 */
export function nextSlotOf(
  { schedule, is_enabled }: { schedule?: Schedule | null; is_enabled: boolean },
  after: Date,
): Date | null {
  return schedule && is_enabled ? nextSlot(schedule, after) : null;
}

interface SchedulerOptions {
  /** Default: by the clock of the database, which all processes share. */
  now?: Date;
  /** Seconds over which starts are spread. */
  spread?: number;
  log?: Log;
}

/**
 * Queues a fetch for each due source: only one for several missed slots. Safe concurrently in several processes.
 * If a schedule cannot be computed, the due slot is fetched, and each retry is recorded as failed.
 * @returns the number of sources
 */
export async function scheduleDue(
  db: Database,
  { now, spread = spreadSeconds, log }: SchedulerOptions = {},
): Promise<number> {
  const time = now ?? (await databaseTime(db));
  let scheduled = 0;
  for (let batch = sourcesPerBatch; batch === sourcesPerBatch; scheduled += batch) {
    batch = await inTransaction(db, 'request', async (trx) => {
      const due = await lockDueSources(trx, time, sourcesPerBatch);
      if (due.length === 0) return 0;
      const slots = due.map((source) => slotOf(source, time, spread, log));
      for (const sourceId of await insertSlots(trx, slots, time)) await publishSourceFailed(trx, sourceId);
      return due.length;
    });
  }
  return scheduled;
}

function slotOf(
  { source_id: sourceId, slot_at: slotAt, definition }: DueSource,
  now: Date,
  spread: number,
  log?: Log,
): ScheduledSlot {
  const slot = { sourceId, slotAt, startAt: new Date(now.getTime() + Math.random() * spread * 1000) };
  try {
    return { ...slot, nextSlotAt: nextSlotOf(definition, now), failureReason: null };
  } catch (error) {
    log?.warn({ err: error, source_id: sourceId }, 'failed to compute the schedule of a source');
    const nextSlotAt = retryAfter(now);
    if (!slotAt || !isRetry(slotAt)) return { ...slot, nextSlotAt, failureReason: null };
    const { message } = new FetchFailure(
      'schedule_unreadable',
      'The times of the schedule cannot be computed: send the source with another schedule, or update the service.',
      { detail: (error as Error).message },
    );
    return { ...slot, nextSlotAt, failureReason: message };
  }
}

function retryAfter(now: Date): Date {
  const time = now.getTime() + retryMilliseconds;
  return new Date(time - (time % minuteMilliseconds) + retryOffsetMilliseconds);
}

const isRetry = (slotAt: Date) => slotAt.getTime() % minuteMilliseconds !== 0;
