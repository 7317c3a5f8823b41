import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { findBuiltInFormat, strictFormat } from '../../../feed-format/built-in-formats';
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
import { fetchFormats } from './formats';
import type { RowEdits } from './mending';
import { pauses } from './pauses';
import type { RejectedRow } from './row-checker';

type Feed = Schemas['Feed'];

/** Number of rows in a stored block. */
const blockRows = 500;

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

  /** Returns the line of the row at a place. */
  lineAt = (place: number): string => String(this.lines[place]);

  /** Reads the rows at these ascending places, a block at once. */
  async *blocksOf(places: readonly number[]): AsyncGenerator<string[][]> {
    for (const [at, inBlock] of Map.groupBy(places, (place) => Math.floor(place / blockRows))) {
      const block = JSON.parse(await this.blocks[at]!.text()) as string[][];
      yield inBlock.map((place) => block[place % blockRows]!);
    }
  }
}

/** The skipped rows of a run, and how they were read. */
export class Rejects {
  constructor(
    readonly head: RejectsHead,
    readonly rows: Pick<RejectedRows, 'placesOf' | 'placesAt' | 'lineAt' | 'blocksOf'>,
    readonly definition: ReadDefinition,
  ) {}

  /** Reads the rows at these ascending places, with pauses for the tab. */
  async *read(places: readonly number[]): AsyncGenerator<RejectedRow> {
    const pause = pauses();
    for await (const block of this.rows.blocksOf(places))
      for (const cells of block) {
        const [line = '', codes = '', messages = ''] = cells;
        yield { line, codes: codes.split(' '), messages, cells };
        await pause();
      }
  }

  /** Reads the changed rows. */
  readChanged = (edits: RowEdits) => this.read(this.rows.placesAt(new Set(Object.keys(edits))));

  /** Returns the changed rows with their changes, as cells. */
  async mended(edits: RowEdits): Promise<string[][]> {
    const { length: width } = this.head.header;
    const rows: string[][] = [];
    for await (const { line, cells } of this.readChanged(edits))
      rows.push(
        Array.from(
          { length: Math.max(width, cells.length) },
          (_, column) => edits[line]!.cells[column] ?? cells[column] ?? '',
        ),
      );
    return rows;
  }
}

/** The skipped rows of the last load of a feed. */
export const useRejects = (feed: Feed, run: number) =>
  useQuery({
    queryKey: ['rejects', feed.validation_job_id, run],
    queryFn: async () => {
      const [rejects, definition] = await Promise.all([fetchRejects(feed), definitionOf(feed)]);
      return readRejects(rejects, definition);
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
    queryFn: async () => {
      const rows: RejectedRow[] = [];
      for await (const row of rejects!.read(places)) rows.push(row);
      return rows;
    },
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
  definition: ReadDefinition,
): Promise<Rejects> {
  const decoder = new TextDecoder(charset);
  const source = file.stream().getReader();
  const reader = new RejectsReader(definition);
  const rows = new RejectedRows();
  const pause = pauses();
  for (let isEnd = false; !isEnd;) {
    const { value, done } = await source.read();
    isEnd = done;
    for (const cells of reader.read(decoder.decode(value, { stream: !done }), done)) rows.add(cells);
    await pause();
  }
  rows.end();
  return new Rejects(reader.head!, rows, definition);
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
