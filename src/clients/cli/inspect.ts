import type { components } from '../../../generated/openapi';
import { applyAnswers, isOpen } from '../../feed-format/detect/apply-answers';
import type { FormatDefinition } from '../../feed-format/format-definition';
import { askFor, doubtLines, parseAnswers } from './doubts';
import { exitCodes, Failure } from './failures';
import { memoryFile, type FeedFile } from './feed-file';
import { countText, printable, printableJson } from './printable';
import { issuesText, linesText } from './report';
import { putFormat } from './formats';
import type { Session, Work } from './session';
import { textTable } from './table';
import { formSender } from './upload';
import { openUploadedFile, type WorkbookOptions } from './workbook-file';

type FeedInspection = components['schemas']['FeedInspection'];

interface InspectionOptions {
  partner: string;
  format?: string;
  /** Name under which the suggested format is saved. */
  save?: string;
  /** Answers to doubts: ABOUT=NUMBER[:VALUE]. */
  answer?: string[];
}

export function inspectFile(
  path: string,
  options: InspectionOptions & WorkbookOptions & { issues: number },
): Work {
  return async (session) => {
    const file = await openUploadedFile(session, path, options);
    try {
      const inspection = await inspect(session, file, options);
      let answers = parseAnswers(options.answer ?? [], inspection.doubts);
      session.view.clear();
      process.stdout.write(
        session.json
          ? `${printableJson(inspection)}\n`
          : inspectionReport(file.name, inspection, options.issues),
      );
      // A named format determines how to read the file.
      const asked = options.format === undefined ? inspection.doubts : [];
      const openDoubts = () => asked.filter((doubt) => isOpen(doubt, answers));
      if (!session.json && openDoubts().length > 0) {
        process.stdout.write(`\n${linesText(doubtLines(openDoubts()))}`);
        if (process.stdin.isTTY && process.stdout.isTTY) answers = await askFor(openDoubts(), answers);
      }
      if (openDoubts().length > 0) return exitCodes.open;
      if (options.save !== undefined) {
        const definition = inspection.suggested_format ?? applyAnswers(inspection, answers);
        return await saveFormat(session, definition, { ...options, save: options.save });
      }
      return inspection.accepted && inspection.run_failure === null ? exitCodes.done : exitCodes.refused;
    } finally {
      await file.close();
    }
  };
}

/** Saves the suggested format. @throws Failure if there is none */
async function saveFormat(
  session: Session,
  definition: FormatDefinition | null,
  { partner, save: name }: InspectionOptions & { save: string },
): Promise<number> {
  if (!definition) throw new Failure(exitCodes.refused, 'There is no suggested format to save.');
  await putFormat(session, { partner, name, definition });
  if (!session.json) process.stdout.write(printable(`Format ${name} of partner ${partner} is saved.`) + '\n');
  return exitCodes.done;
}

/** Inspects the beginning of a refused file. @throws the error of the upload, with advice on how to correct the file */
export async function inspectRefused(
  error: unknown,
  session: Session,
  file: FeedFile,
  options: InspectionOptions,
): Promise<never> {
  if (!(error instanceof Failure) || error.details.status !== 400) throw error;
  const beginning = await beginningOf(file);
  const inspection = beginning && (await inspect(session, beginning, options).catch(() => undefined));
  const advice = inspection ? adviceOf(inspection) : [];
  const message = [error.message, ...advice.map(printable)].join('\n');
  throw new Failure(error.exitCode, message, { ...error.details, inspection });
}

async function inspect(
  session: Session,
  file: FeedFile,
  { partner, format }: InspectionOptions,
): Promise<FeedInspection> {
  const { service } = session;
  const fields = { partner_name: partner, ...(format !== undefined && { format }) };
  const sent = formSender(session, 'the inspection', file, fields);
  const inspection = await service.askFor('the inspection', ['an inspection', 'accepted'], () =>
    service.api.POST('/feeds/inspect', sent()),
  );
  // A service of an earlier version has no doubts.
  return { ...{ draft_format: null, doubts: [] }, ...inspection };
}

/** Makes a file of the whole lines at the beginning of a file. @returns undefined for a packed file that is larger */
async function beginningOf(file: FeedFile): Promise<FeedFile | undefined> {
  const { name } = file;
  const beginning = await file.beginning();
  const isPacked = /\.gz$/i.test(name);
  if (isPacked && beginning.length !== file.size) return undefined;
  const end = isPacked ? 0 : beginning.lastIndexOf('\n') + 1;
  const content = end > 0 ? beginning.subarray(0, end) : beginning;
  return memoryFile(name, content);
}

/** Says how a refused file can be corrected, or read. */
export function adviceOf({
  accepted,
  hint,
  headers,
  suggested_format,
  draft_format,
}: Pick<FeedInspection, 'accepted' | 'hint' | 'headers' | 'suggested_format' | 'draft_format'>): string[] {
  const save = draft_format ? 'feed inspect --answer ABOUT=NUMBER --save NAME' : 'feed inspect --save NAME';
  const isReadable = !accepted && (suggested_format ?? draft_format) !== null;
  const format = isReadable
    ? [`A format can read it as it is: save one with ${save}, and name it with --format.`]
    : [];
  // The headers of another file format are meaningless.
  if (hint) return [hint.message, ...format];
  const renames = headers.flatMap(({ column_number, header, suggestion }) =>
    suggestion ? [`Header '${header}' (column ${column_number}): rename it to ${suggestion}.`] : [],
  );
  return [...renames, ...format];
}

function inspectionReport(fileName: string, inspection: FeedInspection, issuesShown: number): string {
  const { accepted, refusal, run_failure, headers, rows, issues, issue_counts } = inspection;
  const lines = [
    accepted
      ? `${fileName}: an upload would store it.`
      : `${fileName}: an upload would refuse it. ${refusal ?? ''}`,
    ...(run_failure === null ? [] : [`A run would fail. ${run_failure}`]),
    ...adviceOf(inspection),
    formOf(inspection),
    ...knownSkusText(inspection.known_skus),
  ];
  const shown = issues.slice(0, issuesShown);
  return (
    linesText(lines) +
    (headers.length > 0 ? `\n${headerTable(headers, accepted)}` : '') +
    (rows.length > 0
      ? `\nThe first rows that a run would load${accepted ? '' : ' with the suggested format'}:\n${rowTable(rows)}`
      : '') +
    (issue_counts.length > 0 ? issuesText(issue_counts, shown) : '')
  );
}

function formOf({
  detected_encoding: encoding,
  delimiter,
  line_ends,
  row_count,
  complete,
  inspected_bytes,
}: FeedInspection): string {
  const seen = complete ? '' : ` in the first ${countText(inspected_bytes)} bytes`;
  const delimiterText = delimiter === null ? 'none' : JSON.stringify(delimiter);
  return `Encoding ${encoding}, delimiter ${delimiterText}, line ends ${line_ends}, ${countText(row_count)} rows${seen}.`;
}

/** A service of an earlier version does not look the skus up. */
function knownSkusText(known: FeedInspection['known_skus'] | undefined): string[] {
  return known ? [`${countText(known.known)} of ${countText(known.checked)} skus are known.`] : [];
}

function headerTable(headers: FeedInspection['headers'], accepted: boolean): string {
  return textTable(
    [
      ['column', 6],
      ['header', 40],
    ],
    accepted ? 'read as' : 'seems to be',
    headers.map(({ column_number, header, column, confidence, reason, suggestion }) => [
      String(column_number),
      header,
      column
        ? `${column}${accepted ? '' : ` (confidence ${confidence}${reason === null ? '' : `: ${reason}`})`}`
        : suggestion
          ? `ignored; perhaps ${suggestion}`
          : 'ignored',
    ]),
  );
}

function rowTable(rows: FeedInspection['rows']): string {
  return textTable(
    [['line', 11]],
    'values',
    rows.map(({ line, values }) => [
      String(line),
      Object.entries(values)
        .filter(([, value]) => value !== null)
        .map(([column, value]) => `${column}: ${value}`)
        .join('; '),
    ]),
  );
}
