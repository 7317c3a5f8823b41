import { TextDecoder } from 'node:util';
import type { components } from '../../../generated/openapi';
import { findBuiltInFormat, strictFormat } from '../../feed-format/built-in-formats';
import type { ReadDefinition } from '../../feed-format/format-definition';
import {
  formatChange,
  mendedFields,
  mendedFile,
  NotRejects,
  RejectsReader,
  statedCharset,
  UnwritableCell,
  type RejectsHead,
} from '../../feed-format/write/mended-feed';
import { detectMark } from '../../feed-format/read/byte-order-mark';
import { UnclosedQuote } from '../../feed-format/read/scan-record';
import { exitCodes, Failure, UsageFailure } from './failures';
import { memoryFile, openInputFile } from './feed-file';
import { fetchFormat } from './formats';
import { ownPieces } from './mend';
import { showPlan } from './plan';
import { printable } from './printable';
import { downloadRejects } from './rejects';
import type { Session, Work } from './session';
import { uploadFeed } from './upload';

type Feed = components['schemas']['Feed'];

interface RejectsFile {
  head: RejectsHead;
  rows: string[][];
}

/** A corrected file, with its rows in memory. `encoding` absent: by its byte order mark, else UTF-8 or the encoding of the rejects. */
interface CorrectedFile {
  path: string;
  encoding?: string;
}

/**
 * Uploads the corrected rows of a file of rejects, and shows what a run would change. Corrected rows differ from the rejects of the
 * job's last run.
 */
export function uploadMended(
  jobId: string,
  path: string,
  { limit, encoding }: { limit: number; encoding?: string },
): Work {
  return async (session) => {
    const feed = await feedOf(session, jobId);
    const definition = await definitionOf(session, feed);
    const { corrected, rejects } = await readBoth(session, jobId, definition, { path, encoding });
    const edited = editedRows(jobId, corrected, rejects);
    const text = mendedText(corrected.head, edited, definition);
    const file = memoryFile(`mended-${feed.feed_id}.csv`, Buffer.from(text));
    const receipt = await uploadFeed(session, file, feed.partner_name, mendedFields(feed));
    const { feed_id, validation_job_id } = receipt;
    session.view.note(
      printable(
        `${edited.length} of ${corrected.rows.length} rows differ: stored as feed ${feed_id}, but not loaded.` +
          ` Look at the plan, then: ${session.invocation} run ${validation_job_id}`,
      ),
    );
    return showPlan(validation_job_id, { limit })(session);
  };
}

async function feedOf({ service }: Session, job_id: string): Promise<Feed> {
  const { feed_id } = await service.askFor('the request for the job', ['a job', 'feed_id'], () =>
    service.api.GET('/jobs/{job_id}', { params: { path: { job_id } } }),
  );
  return service.askFor('the request for the feed', ['a feed', 'partner_name'], () =>
    service.api.GET('/feeds/{feed_id}', { params: { path: { feed_id } } }),
  );
}

/** @throws UsageFailure for a cell that the format cannot express */
function mendedText(...[head, rows, definition]: Parameters<typeof mendedFile>): string {
  try {
    return mendedFile(head, rows, definition);
  } catch (error) {
    if (error instanceof UnwritableCell) throw new UsageFailure(printable(error.message));
    throw error;
  }
}

/**
 * Returns how the corrected rows will be read, and warns if their feed was read by another definition.
 * @throws Failure if the format is gone
 */
async function definitionOf(session: Session, feed: Feed): Promise<ReadDefinition> {
  const { feed_id, partner_name, format_name: name } = feed;
  if (name === null) return strictFormat;
  const builtIn = findBuiltInFormat(name);
  if (builtIn) return builtIn.definition;
  const format = await fetchFormat(session, { name, partner: partner_name });
  const change = formatChange(feed, format);
  if (!format || change === 'gone') {
    const problem = `${partner_name} has no format ${name} any more, by which the rows of feed ${feed_id} were read`;
    const remedy = `save one of this name, or upload the file itself with another format and the mode ${mendedFields(feed).mode}`;
    throw new Failure(exitCodes.refused, printable(`${problem}: ${remedy}.`));
  }
  if (change === 'saved') {
    const problem = `The format ${name} was saved again after feed ${feed_id} had been uploaded`;
    session.view.note(printable(`${problem}: the corrected rows are read by it as it is now.`));
  }
  return format.definition;
}

/** Reads the corrected file, and the rejects of the last run on the same lines. */
function readBoth(
  session: Session,
  jobId: string,
  definition: ReadDefinition,
  file: CorrectedFile,
): Promise<{ corrected: RejectsFile; rejects: RejectsFile }> {
  return downloadRejects(session, jobId, async (content, mediaType) => {
    const charset = statedCharset(mediaType);
    const readings = await readCorrected(file, definition, charset);
    const lines = new Set(readings.flatMap(({ rows }) => rows.map(lineOf)));
    const rejects = await readRows(content, definition, new TextDecoder(charset), lines);
    return { corrected: closest(readings, rejects), rejects };
  });
}

/** Returns the first reading with the fewest differences: changed rows, and the header counts as one. */
function closest(readings: RejectsFile[], rejects: RejectsFile): RejectsFile {
  const rowsOf = ({ head, rows }: RejectsFile) => [head.header, ...rows];
  const known = new Map(rowsOf(rejects).map((row) => [lineOf(row), contentOf(row)]));
  const differing = (reading: RejectsFile) =>
    rowsOf(reading).filter((row) => known.get(lineOf(row)) !== contentOf(row)).length;
  return readings.toSorted((one, other) => differing(one) - differing(other))[0]!;
}

/** Reads the corrected file in its encoding, or in each possible one; of a format without quotes, also with them. */
async function readCorrected(
  { path, encoding }: CorrectedFile,
  definition: ReadDefinition,
  charset: string,
): Promise<RejectsFile[]> {
  const wrong = (problem: string) => new UsageFailure(`${printable(path)} ${problem}`);
  const file = await openInputFile(path);
  try {
    const pieces: Buffer[] = [];
    for await (const piece of ownPieces(file.read()!)) pieces.push(piece);
    // Spreadsheets save with quotes, regardless of the original file.
    const definitions =
      definition.quote === 'none' ? [definition, { ...definition, quote: '"' }] : [definition];
    const readAs = (name: string) =>
      definitions.map((each) => readRows(pieces, each, new TextDecoder(name, { fatal: true })));
    const mark = detectMark(pieces[0] ?? Buffer.alloc(0));
    const known = encoding ?? (mark.markBytes > 0 ? mark.encoding : undefined);
    // Many spreadsheets save UTF-8, regardless of the original encoding.
    const names = known === undefined ? new Set(['utf-8', charset]) : [known];
    const readings = await Promise.allSettled(Array.from(names).flatMap(readAs));
    const read = readings.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    if (read.length === 0) throw (readings.at(-1) as PromiseRejectedResult).reason;
    return read;
  } catch (error) {
    if (error instanceof NotRejects)
      throw wrong('is not a file of rejects: its first columns are not _line, _codes and _messages.');
    if (error instanceof UnclosedQuote) throw wrong('is not CSV: a quote is never closed.');
    if (error instanceof RangeError) throw new UsageFailure(`Unknown encoding: ${printable(encoding!)}.`);
    if ((error as { code?: string }).code === 'ERR_ENCODING_INVALID_ENCODED_DATA')
      throw wrong('is in another encoding: name it with --encoding.');
    throw error;
  } finally {
    await file.close();
  }
}

/** Reads a file of rejects. @param lines - absent: all @throws NotRejects, UnclosedQuote; errors of the decoder */
async function readRows(
  pieces: AsyncIterable<Buffer> | Iterable<Buffer>,
  definition: ReadDefinition,
  decoder: TextDecoder,
  lines?: ReadonlySet<string>,
): Promise<RejectsFile> {
  const reader = new RejectsReader(definition);
  const rows: string[][] = [];
  const keep = (some: string[][]) => {
    for (const row of some) if (!lines || lines.has(lineOf(row))) rows.push(row);
  };
  for await (const piece of pieces) keep(reader.read(decoder.decode(piece, { stream: true }), false));
  keep(reader.read(decoder.decode(), true));
  return { head: reader.head!, rows };
}

/**
 * Finds the corrected rows, in the order of their lines.
 * @throws UsageFailure for other columns, and without such a row; Failure for a row that the last run has not skipped
 */
function editedRows(jobId: string, corrected: RejectsFile, rejects: RejectsFile): string[][] {
  const names = rejects.head.header;
  if (names.some((name, at) => corrected.head.header[at]?.trim() !== name.trim()))
    throw new UsageFailure(
      'The columns of the file differ from the columns of the skipped rows, or are in another order.',
    );
  const skipped = new Map(rejects.rows.map((row) => [lineOf(row), row]));
  const foreign = corrected.rows.find((row) => !skipped.has(lineOf(row)));
  if (foreign) {
    const problem = `The last run of job ${jobId} has not skipped line ${lineOf(foreign)}`;
    const remedy = 'download the rejects again, and correct them.';
    throw new Failure(exitCodes.refused, printable(`${problem}: ${remedy}`));
  }
  const edited = corrected.rows.filter((row) => contentOf(row) !== contentOf(skipped.get(lineOf(row))!));
  if (edited.length === 0) throw new UsageFailure('No row of the file differs from the skipped rows.');
  return edited.sort((one, other) => Number(lineOf(one)) - Number(lineOf(other)));
}

const lineOf = ([line = '']: string[]) => line.trim();

/** Returns the compared content. It includes the codes, because clearing them requests a superseded row; not the messages. */
function contentOf([, codes, , ...cells]: string[]): string {
  while (cells.at(-1) === '') cells.pop();
  return JSON.stringify([codes, ...cells]);
}
