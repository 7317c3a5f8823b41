import { checkFeed, type FeedCheck } from '../../feed-format/check/check-feed';
import type { LoadMode } from '../../feed-format/load-options';
import { isWorkbookName } from '../workbook/file-kind';
import { adviseOn } from './check-advice';
import { githubReport } from './check-annotations';
import { checkBody, textReport, type CheckedFeed } from './check-report';
import { readFormat } from './checked-format';
import { exitCodes } from './failures';
import type { FeedFile } from './feed-file';
import { ownPieces } from './mend';
import { printable, printableJson } from './printable';
import type { ProgressView } from './progress-view';
import type { LocalSession, LocalWork } from './session';
import { openUploadedFile, type WorkbookOptions } from './workbook-file';

export interface CheckOptions extends WorkbookOptions {
  /** A built-in format, or a file with a definition. */
  format?: string;
  mode: LoadMode;
  maxSkippedPercent?: number;
  issues?: number;
  strict?: boolean;
  outputFormat: 'text' | 'github';
}

/** Checks a file without a service. @param resolvePath - resolves the path of a format */
export function checkFile(
  path: string,
  options: CheckOptions,
  resolvePath: (path: string) => string,
): LocalWork {
  return async (session) => {
    const { view, json } = session;
    const { mode, maxSkippedPercent = null } = options;
    const format = options.format === undefined ? null : await readFormat(options.format, resolvePath);
    const file = await openUploadedFile(session, path, options);
    try {
      const upload = { fileName: file.name, mode, maxSkippedPercent, format };
      const check = await checkFeed(piecesOf(file, view), upload);
      const checked = { path, ...upload, check, advice: await adviceFor(file, check, upload) };
      view.clear();
      if (isWorkbookName(path) && check.issues.length > 0)
        view.note('Lines are those of the CSV file: keep it with --save-csv NEW.');
      process.stdout.write(reportOf(checked, options, json));
      return exitCodeOf(check, options.strict);
    } finally {
      await file.close();
    }
  };
}

/** Reads the pieces of a file, and shows the progress. */
async function* piecesOf(file: FeedFile, view: ProgressView): AsyncGenerator<Buffer> {
  let done = 0;
  for await (const piece of ownPieces(file.read()!)) {
    done += piece.length;
    view.show({ name: 'checking', bytes: { done, total: file.size }, detail: printable(file.name) });
    yield piece;
  }
}

/** A named format determines how to read the file. */
async function adviceFor(
  file: FeedFile,
  { refusal }: FeedCheck,
  { format, mode }: Pick<CheckedFeed, 'format' | 'mode'>,
): Promise<CheckedFeed['advice']> {
  if (!refusal || format) return null;
  const beginning = await file.beginning();
  return adviseOn(beginning, beginning.length === file.size, mode === 'update');
}

/** Issues that are shown in a text, and as annotations: GitHub shows ten errors and ten warnings of a step. */
const issuesShown = { text: 10, github: 100 };

function reportOf(
  checked: CheckedFeed,
  { outputFormat, issues }: CheckOptions,
  json: LocalSession['json'],
): string {
  if (json) return `${printableJson(checkBody(checked, issues))}\n`;
  const shown = issues ?? issuesShown[outputFormat];
  if (outputFormat === 'text') return textReport(checked, shown);
  // npm runs the command in the folder of its own project.
  return githubReport(checked, shown, process.env.GITHUB_WORKSPACE || process.cwd());
}

function exitCodeOf({ refusal, runFailure, skipped }: FeedCheck, isStrict = false): number {
  if (refusal || runFailure !== null) return exitCodes.refused;
  return isStrict && skipped > 0 ? exitCodes.rowsSkipped : exitCodes.done;
}
