import { pipeline } from 'node:stream/promises';
import type { Knex } from 'knex';
import { connectionOf } from '../db/database';
import { from as copyFrom } from 'pg-copy-streams';
import type { ObjectStore } from '../storage/object-store';
import { RecordExtractor } from './extract';
import { productColumns } from '../feed-format/columns';
import { headerNames, type FeedHeader } from '../feed-format/header';
import { findNewerLoadedFeed, headerIssues } from './header-issues';
import type { PartnerDigests } from './unchanged/partner-digests';
import { openRawFile, type FeedToRun } from './raw-file';
import { RowIssueLog, type RecordPlace } from './row-issues';
import { TextBatch } from './text-batch';
import { transformRecord, type ProductValues } from './transform';

/** What a run does, in this order; where another run of the partner comes in between, it begins anew. */
export type RunPhase = 'reading' | 'comparing' | 'loading';

/** What is known of the rows so far, and how far the run is. */
export class RunTally {
  phase: RunPhase = 'reading';
  /** Of the raw file. */
  bytesRead = 0;
  issues: RowIssueLog;
  /** Rows that were sent to the database. */
  copied = 0;
  rejected = 0;
  /** Rows that are known to say what their products say; they are not sent. */
  known = 0;
  /** Milliseconds per phase, for the log. */
  readonly milliseconds: Record<string, number> = {};

  /** @param keepsIssues - whether issues are kept besides their counts */
  constructor(private readonly keepsIssues = true) {
    this.issues = new RowIssueLog(keepsIssues);
  }

  /** How many were read. */
  get rows(): number {
    return this.copied + this.rejected + this.known;
  }

  /** Forgets what is known: the rows are read again. */
  startOver(): void {
    this.phase = 'reading';
    this.bytesRead = 0;
    this.issues = new RowIssueLog(this.keepsIssues);
    this.copied = 0;
    this.rejected = 0;
    this.known = 0;
  }

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

/** Where the rows of a feed are copied to. */
export interface RowTarget {
  /** The table and its columns. */
  table: string;
  /** A row in the text form of COPY. */
  text(place: RecordPlace, values: ProductValues): string;
  takesRepeatedSkus: boolean;
}

/** A sku came again, and the target takes each but once. */
export class RepeatedSku extends Error {}

/** What is to be copied. */
export interface RowSource {
  objectStore: ObjectStore;
  feed: FeedToRun;
  /** By which the rows are known that change nothing, so that they need not travel; absent: all do. */
  digests?: PartnerDigests;
  /** Gives the reading up when it is aborted. */
  signal?: AbortSignal;
}

/**
 * Streams the raw file through extractor and transform into the target.
 * @returns the header
 * @throws FeedFailure when the file cannot be read to its end; RepeatedSku
 */
export async function copyRows(
  trx: Knex.Transaction,
  { objectStore, feed, digests, signal }: RowSource,
  target: RowTarget,
  tally: RunTally,
): Promise<FeedHeader> {
  const newerFeed = await findNewerLoadedFeed(trx, feed);
  const { header, chunks, close } = await openRawFile(objectStore, feed, signal);
  const known = digests && (await tally.time('load digests', () => digests.load(header)));
  const batch = new TextBatch();
  const extractor = new RecordExtractor<Buffer>(
    header,
    (place, text) => {
      const names = headerNames(Buffer.from(text), header.delimiter) ?? [];
      for (const issue of headerIssues(place, names, newerFeed)) tally.issues.add(issue);
      return null;
    },
    (record) => {
      if (!record.tooLong && known?.isUnchanged(record.bytes, record)) {
        tally.known++;
        return null;
      }
      const { values, issues } = transformRecord(record, header);
      if (issues) for (const issue of issues) tally.issues.add(issue);
      if (!values) {
        tally.rejected++;
        return null;
      }
      const superseded = known?.travels(values.sku, issues === undefined);
      if (known?.hasRepeatedSku && !target.takesRepeatedSkus) throw new RepeatedSku();
      tally.copied++;
      const text = target.text(record, values);
      if (!superseded) return batch.add(text);
      tally.known--;
      tally.copied++;
      // The row here replaces it, whatever its values.
      return batch.add(
        target.text(superseded, { ...noValues, sku: values.sku, product_name: values.sku }) + text,
      );
    },
  );
  async function* counted(): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      tally.bytesRead += chunk.length;
      yield chunk;
    }
  }
  async function* batches(): AsyncGenerator<Buffer> {
    yield* extractor.read(counted());
    yield batch.take();
  }
  const client = await connectionOf(trx);
  try {
    await pipeline(batches(), client.query(copyFrom(`copy ${target.table} from stdin`)));
  } finally {
    await close();
  }
  return header;
}

const noValues = Object.fromEntries(productColumns.map((column) => [column, null])) as ProductValues;

/** The values of a product in the text form of COPY, a tab before each. */
export function copyTexts(values: ProductValues): string {
  let text = '';
  for (const column of productColumns) text += `\t${copyText(values[column])}`;
  return text;
}

const copySpecial = /[\\\t\n\r]/;
const copyEscapes: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

function copyText(value: string | null): string {
  if (value === null) return '\\N';
  return copySpecial.test(value) ? value.replace(/[\\\t\n\r]/g, (special) => copyEscapes[special]!) : value;
}
