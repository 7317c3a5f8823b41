import { Readable } from 'node:stream';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import type { ExtractedRecord } from '../../src/feed-format/read/extract';
import type { FeedHeader } from '../../src/feed-format/read/header-columns';
import { isBlankRecord, recordOptions } from '../../src/feed-format/read/header-names';
import { UnclosedQuote } from '../../src/feed-format/read/scan-record';
import { trimText } from '../../src/feed-format/text';
import { anyBytes } from '../support/arbitrary';
import { casesFor, forgetAll } from '../support/fuzz';
import { extractStrictly, findStrictHeader } from '../support/read-strictly';
import {
  copyRecord,
  type LongRecord,
  type PlainRecord,
  ReferenceExtractor,
} from '../support/reference-extractor';
import { startTestService, type TestService } from '../support/service';

/** Extracts the records of bytes in chunks of these sizes. @param recordBytesMax - absent: the limit of the service */
async function extract(bytes: Buffer, sizes: number[], recordBytesMax?: number) {
  const header = findStrictHeader(bytes);
  if (!header) return undefined;
  const records: (PlainRecord | LongRecord)[] = [];
  const raw: string[] = [];
  const onRecord = (record: ExtractedRecord) => {
    records.push(copyRecord(record, header.positions.sku));
    raw.push(record.bytes.toString());
    return null;
  };
  const failure = await failureOf(
    extractStrictly(chunked(bytes, sizes), header, { onRecord }, recordBytesMax),
  );
  return { header, records, raw, failure };
}

/** Parses bytes with csv-parse alone, as a stream. */
async function extractByReference(
  header: FeedHeader,
  bytes: Buffer,
  sizes: number[],
  recordBytesMax?: number,
) {
  const records: (PlainRecord | LongRecord)[] = [];
  const raw: string[] = [];
  const extractor = new ReferenceExtractor(
    header,
    () => null,
    (record, text) => {
      records.push(record);
      raw.push(text());
      return null;
    },
    recordBytesMax,
  );
  return { records, raw, failure: await failureOf(extractor.read(chunked(bytes, sizes))) };
}

function chunked(bytes: Buffer, sizes: number[]): Readable {
  const chunks: Buffer[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length]!;
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  return Readable.from(chunks);
}

async function failureOf(texts: AsyncIterable<unknown>): Promise<string | undefined> {
  try {
    for await (const _ of texts);
    return undefined;
  } catch (error) {
    if (!(error instanceof UnclosedQuote)) throw error;
    return error.message;
  }
}

/** Parses the whole text with csv-parse; undefined if a quote stays open. */
function reference(bytes: Buffer | string, delimiter: string): string[][] | undefined {
  try {
    return parse(bytes, { ...recordOptions, bom: true, delimiter });
  } catch {
    return undefined;
  }
}

interface Summary {
  processed: number;
  inserted: number;
  updated: number;
  unchanged: number;
  skipped: number;
}

const fieldsOf = (record: PlainRecord | LongRecord) => ('tooLong' in record ? [] : record.fields);
const isBlankLine = (fields: string[]) =>
  fields.length === 1 && fields[0] !== '' && trimText(fields[0]!) === '';

it('csv-parse and the extractor read the same records of any file, in any chunks, each with its own text and line', async () => {
  await fc.assert(
    fc.asyncProperty(
      anyBytes,
      fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 4 }),
      async (bytes, sizes) => {
        const read = await extract(bytes, sizes);
        if (!read) return;
        const all = reference(bytes, read.header.delimiter);
        expect(read.failure === undefined).toBe(all !== undefined);
        const { records, raw, failure } = read;
        expect({ records, raw, failure }).toEqual(await extractByReference(read.header, bytes, sizes));
        if (!all) return;

        const rows = all
          .slice(all.findIndex((fields) => !isBlankRecord(fields)) + 1)
          .filter((fields) => !isBlankLine(fields));
        expect(read.records.map(fieldsOf)).toEqual(rows);
        const lines = bytes
          .toString()
          .replace(/^\uFEFF/, '')
          .split('\n');
        for (const [at, record] of read.records.entries()) {
          const { line, lastLine, row } = record;
          const fields = fieldsOf(record);
          const raw = read.raw[at]!;
          expect(row).toBe(at + 1);
          // Its text is the content of its lines, with or without the first half of the line end.
          const own = lines.slice(line - 1, lastLine).join('\n');
          expect([own, own.replace(/\r$/, '')]).toContain(raw);
          // A byte order mark at the start of a text would be taken for the mark of the file.
          if (!raw.startsWith('\uFEFF'))
            expect(reference(raw, read.header.delimiter) ?? [fields]).toEqual([fields]);
        }
      },
    ),
    casesFor('the extractor', 200),
  );
});

it('a record that is too long is one record without fields, and csv-parse reads the same other records, in any chunks', async () => {
  await fc.assert(
    fc.asyncProperty(
      anyBytes,
      fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 4 }),
      fc.integer({ min: 4, max: 40 }),
      async (bytes, sizes, recordBytesMax) => {
        const read = await extract(bytes, sizes, recordBytesMax);
        if (!read) return;
        const reference = await extractByReference(read.header, bytes, sizes, recordBytesMax);
        const atOnce = (await extract(bytes, [bytes.length], recordBytesMax))!;

        const withoutSku = (record: PlainRecord | LongRecord) =>
          'tooLong' in record ? { ...record, sku: undefined } : record;
        expect(read.failure).toBe(reference.failure);
        expect(read.raw).toEqual(reference.raw);
        expect(read.records.map(withoutSku)).toEqual(reference.records.map(withoutSku));
        expect(read.records).toEqual(atOnce.records);
        for (const [at, record] of read.records.entries()) {
          if (!('tooLong' in record) || record.sku === undefined) continue;
          expect(record.sku).toBe((reference.records[at] as LongRecord).sku);
        }
      },
    ),
    casesFor('records that are too long', 200),
  );
});

describe('any file', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
  });

  it('is rejected alike by inspection and upload, has the same plan and run, and all of its rows are counted', async () => {
    await fc.assert(
      fc.asyncProperty(anyBytes, async (bytes) => {
        const form = { csv: new Uint8Array(bytes), partnerName: 'Fuzz' };
        const inspection = await service.api.inspect(form);
        const upload = await service.api.upload(form);

        expect(inspection.status).toBe(200);
        expect([201, 400]).toContain(upload.status);
        expect(inspection.body.refusal).toBe(upload.status === 201 ? null : upload.body.detail);
        if (upload.status !== 201) return;

        const job = `/jobs/${upload.body.validation_job_id}`;
        const plan = await service.api.post(`${job}/plan?limit=100`);
        const run = await service.api.post(`${job}/run`);
        const again = await service.api.post(`${job}/run`);
        const rejects = await service.api.get(`${job}/rejects.csv`);
        await forgetAll(service);

        expect([plan.status, run.status, again.status, rejects.status]).toEqual([200, 200, 200, 200]);
        const { processed, inserted, updated, unchanged, skipped } = run.body.summary as Summary;
        expect(processed).toBe(inserted + updated + unchanged + skipped);
        const same = ({ status, message, summary, issue_counts }: Record<string, unknown>) => ({
          status,
          message,
          summary,
          issue_counts,
        });
        expect(same(plan.body)).toEqual(same(run.body));
        const failure = inspection.body.run_failure as string | null;
        expect(run.body.status).toBe(failure === null ? 'completed' : 'failed');
        if (failure !== null) {
          expect(run.body.message).toContain(`ETL processing failed: ${failure}`);
          return;
        }
        expect(inspection.body.row_count).toBe(processed);
        expect(inspection.body.issue_counts).toEqual(run.body.issue_counts);
        expect(again.body.summary).toEqual({
          ...run.body.summary,
          inserted: 0,
          unchanged: inserted + unchanged,
        });
      }),
      casesFor('inspection, upload, plan and run', 5),
    );
  });
});
