import { pipeline } from 'node:stream/promises';
import type { Knex } from 'knex';
import { limits } from '../config';
import { newerLoadedFeed, type FeedToRun } from '../jobs/jobs.repository';
import type { ObjectStore } from '../storage/object-store';
import { RecordExtractor } from './extract';
import type { ProductColumn } from './feed-format';
import { headerIssues } from './header-issues';
import { compareProducts, type MergeTarget, type ProductCounts } from './load';
import { openRawFile } from './raw-file';
import { RowIssueLog } from './row-issues';
import { createStaging, foldRepeatedSkus, stageRows, stagedRow } from './staging';
import type { RunCounters } from './summary';
import { transformRecord } from './transform';

/** What is known of the rows so far. */
export class RunTally {
  readonly issues = new RowIssueLog();
  staged = 0;
  rejected = 0;
  /** Milliseconds per phase, for the log. */
  readonly milliseconds: Record<string, number> = {};

  /** Does `work` and notes how long it took. */
  async time<T>(phase: string, work: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    try {
      return await work();
    } finally {
      this.milliseconds[phase] = Math.round(performance.now() - startedAt);
    }
  }
}

/** A feed whose good rows are staged. */
export interface StagedFeed extends MergeTarget {
  /** Where the sku stands in the file, from 1. */
  skuColumnNumber: number;
}

/**
 * Streams the raw file through parser and transform into the staging table.
 * @throws FeedFailure when the file cannot be read to its end
 */
export async function stageFeed(
  trx: Knex.Transaction,
  objectStore: ObjectStore,
  feed: FeedToRun,
  tally: RunTally,
): Promise<StagedFeed> {
  await createStaging(trx);
  const newerFeed = await newerLoadedFeed(trx, feed);
  const { header, chunks, close } = await openRawFile(objectStore, feed.objectKey);
  const batch = new Batch();
  const extractor = new RecordExtractor(
    header,
    (place) => {
      for (const issue of headerIssues(place, header, newerFeed)) tally.issues.add(issue);
      return null;
    },
    (record) => {
      const { values, issues } = transformRecord(record, header);
      if (issues) for (const issue of issues) tally.issues.add(issue);
      if (!values) {
        tally.rejected++;
        return null;
      }
      tally.staged++;
      return batch.add(stagedRow(record, values));
    },
  );
  async function* batches(): AsyncGenerator<string> {
    yield* extractor.read(chunks);
    yield batch.take();
  }
  try {
    await pipeline(batches(), await stageRows(trx));
  } finally {
    await close();
  }
  return {
    feedId: feed.feedId,
    partnerId: feed.partnerId,
    columns: new Set(Object.keys(header.positions) as ProductColumn[]),
    skuColumnNumber: header.positions.sku! + 1,
  };
}

/** Texts that are handed on together: few writes, little memory. */
class Batch {
  private text = '';

  /** @returns everything so far once there is enough, else null */
  add(text: string): string | null {
    this.text += text;
    return this.text.length < limits.copyBatchCharacters ? null : this.take();
  }

  take(): string {
    const { text } = this;
    this.text = '';
    return text;
  }
}

/**
 * Folds repeated skus and notes what the staged rows would change.
 * @returns what every row of the feed comes to
 */
export async function compareFeed(
  trx: Knex.Transaction,
  feed: StagedFeed,
  tally: RunTally,
): Promise<{ counters: RunCounters; changes: ProductCounts }> {
  const repeated = await tally.time('fold', () => foldRepeatedSkus(trx, feed.skuColumnNumber));
  tally.issues.count('duplicate_sku', repeated.count, repeated.first);
  const changes = await tally.time('compare', () => compareProducts(trx, feed));
  const skipped = tally.rejected + repeated.count;
  const processed = changes.inserted + changes.updated + changes.unchanged + skipped;
  return { counters: { processed, ...changes, skipped }, changes };
}
