import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { findBuiltInFormat, strictFormat } from '../../../feed-format/built-in-formats';
import { cellsOfColumns, faultyCells, type CellsOfColumns } from '../../../feed-format/write/faulty-cells';
import type { ReadDefinition } from '../../../feed-format/format-definition';
import {
  formatChange,
  RejectsReader,
  statedCharset,
  type FormatChange,
  type RejectsHead,
} from '../../../feed-format/write/mended-feed';
import type { Schemas } from '../api';
import { bodyOf, client } from '../api';
import type { Edits } from './edits';
import { fetchFormats } from './formats';

type Feed = Schemas['Feed'];

/** A skipped row: its line in the feed, its reasons, and its cells, including generated columns. */
export interface RejectedRow {
  line: string;
  messages: string;
  cells: string[];
  /** Positions of the cells that caused the rejection. */
  faulty: number[];
}

/** Number of rows in a stored block. */
const blockRows = 500;

/** Maximum time without a pause for the tab. */
const workMilliseconds = 30;

/**
 * Rows of a file of rejects. They can be hundreds of thousands: the browser stores them outside of the page's memory, which has only a
 * line and a reason for each.
 */
class RejectedRows {
  private readonly blocks: Blob[] = [];
  private block: string[][] = [];
  private readonly lines: number[] = [];
  /** The codes of each row, as a number in `allCodes`. */
  private readonly codes: number[] = [];
  private readonly allCodes: string[] = [];

  add(cells: string[]): void {
    const [line = '', codes = ''] = cells;
    let known = this.allCodes.indexOf(codes);
    if (known === -1) known = this.allCodes.push(codes) - 1;
    this.lines.push(Number(line));
    this.codes.push(known);
    this.block.push(cells);
    if (this.block.length === blockRows) this.end();
  }

  /** Stores the last rows. */
  end(): void {
    this.blocks.push(new Blob([JSON.stringify(this.block)]));
    this.block = [];
  }

  /** Returns the places of the rows with a reason; of all rows if none is given. */
  placesOf(code: string): number[] {
    const hasCode = this.allCodes.map((codes) => code === '' || codes.split(' ').includes(code));
    return this.codes.flatMap((codes, place) => (hasCode[codes] ? [place] : []));
  }

  /** Returns the places of the rows on these lines of the feed. */
  placesAt(lines: ReadonlySet<string>): number[] {
    return this.lines.flatMap((line, place) => (lines.has(String(line)) ? [place] : []));
  }

  /** Reads the rows at these ascending places. */
  async read(places: readonly number[]): Promise<string[][]> {
    const rows: string[][] = [];
    for (const [at, inBlock] of Map.groupBy(places, (place) => Math.floor(place / blockRows))) {
      const block = JSON.parse(await this.blocks[at]!.text()) as string[][];
      rows.push(...inBlock.map((place) => block[place % blockRows]!));
    }
    return rows;
  }
}

/** The skipped rows of a run, and how they were read. */
export class Rejects {
  private readonly columns: CellsOfColumns;

  constructor(
    readonly head: RejectsHead,
    readonly rows: Pick<RejectedRows, 'placesOf' | 'placesAt' | 'read'>,
    readonly definition: ReadDefinition,
    private readonly mode: Schemas['LoadMode'],
  ) {
    this.columns = cellsOfColumns(head.header, definition);
  }

  /** Reads the rows at these ascending places. */
  async read(places: readonly number[]): Promise<RejectedRow[]> {
    const { columns, mode, definition } = this;
    const reading = { width: this.head.header.length, columns, mode, definition };
    return (await this.rows.read(places)).map((cells) => {
      const [line = '', codes = '', messages = ''] = cells;
      return { line, messages, cells, faulty: faultyCells(codes.split(' '), cells, reading) };
    });
  }

  /** Reads the rows with a changed cell, with their changes. */
  async readMended(edits: Edits): Promise<string[][]> {
    const lines = new Set(Object.keys(edits).map((place) => place.split('/')[0]!));
    const { length: width } = this.head.header;
    const rows = await this.rows.read(this.rows.placesAt(lines));
    return rows.map((cells) =>
      Array.from(
        { length: Math.max(width, cells.length) },
        (_, column) => edits[`${cells[0]}/${column}`] ?? cells[column] ?? '',
      ),
    );
  }
}

/** The skipped rows of the last load of a feed. */
export const useRejects = (feed: Feed, run: number) =>
  useQuery({
    queryKey: ['rejects', feed.validation_job_id, run],
    queryFn: async () => {
      const [rejects, definition] = await Promise.all([fetchRejects(feed), definitionOf(feed)]);
      return readRejects(rejects, feed, definition);
    },
    staleTime: Infinity,
  });

/** One page of the rows with a reason. @param places - of its rows */
export const useRejectedRows = (
  { validation_job_id: jobId }: Feed,
  run: number,
  rejects: Rejects | undefined,
  places: number[],
) =>
  useQuery({
    queryKey: ['rejected-rows', jobId, run, places],
    queryFn: () => rejects!.read(places),
    enabled: rejects !== undefined,
    placeholderData: keepPreviousData,
    staleTime: Infinity,
  });

/**
 * Fetches the file of rejects of the last run of a feed, with the charset of its header: the type of a blob may lack it.
 * @throws as `bodyOf`, also while a run is queued or in progress
 */
export async function fetchRejects(feed: Feed): Promise<{ file: Blob; charset: string }> {
  const sent = client.GET('/jobs/{job_id}/rejects.csv', {
    params: { path: { job_id: feed.validation_job_id } },
    parseAs: 'blob',
  }) as Promise<{ data?: Blob; error?: unknown; response: Response }>;
  const file = await bodyOf(sent);
  const { response } = await sent;
  return { file, charset: statedCharset(response.headers.get('content-type') ?? '') };
}

/** Returns how a feed was read; by the format `standard` if its format is gone. */
async function definitionOf({ partner_name, format_name }: Feed): Promise<ReadDefinition> {
  if (format_name === null) return strictFormat;
  const formats = await fetchFormats(partner_name);
  const { definition } =
    formats.find((format) => format.format_name === format_name) ?? findBuiltInFormat('standard')!;
  return definition;
}

async function readRejects(
  { file, charset }: { file: Blob; charset: string },
  feed: Feed,
  definition: ReadDefinition,
): Promise<Rejects> {
  const decoder = new TextDecoder(charset);
  const source = file.stream().getReader();
  const reader = new RejectsReader(definition);
  const rows = new RejectedRows();
  let pausedAt = performance.now();
  for (let isEnd = false; !isEnd;) {
    const { value, done } = await source.read();
    isEnd = done;
    for (const cells of reader.read(decoder.decode(value, { stream: !done }), done)) rows.add(cells);
    // Chunks that were read already arrive without a pause, and would block the tab.
    if (performance.now() - pausedAt < workMilliseconds) continue;
    await new Promise((resolve) => setTimeout(resolve));
    pausedAt = performance.now();
  }
  rows.end();
  return new Rejects(reader.head!, rows, definition, feed.mode);
}

/** Change of the feed's format since, by which mended rows are read; undefined also until it is known. */
export function useFormatChange(feed: Feed): FormatChange | undefined {
  const { partner_name: partner, format_name: name } = feed;
  const { data: formats } = useQuery({
    queryKey: ['formats', partner],
    queryFn: () => fetchFormats(partner),
    enabled: name !== null,
  });
  const format = formats?.find(({ format_name }) => format_name === name);
  return formats && formatChange(feed, format);
}
