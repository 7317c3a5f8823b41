import { styleText } from 'node:util';
import type { ServiceError } from '../../base/errors';
import type { CheckedUpload, FeedCheck } from '../../feed-format/check/check-feed';
import type { InspectedHeader } from '../../feed-format/detect/inspected-headers';
import { issueBody } from '../../feed-format/rows/issue-body';
import type { CheckAdvice } from './check-advice';
import { adviceOf } from './inspect';
import { countText, printable, printableJson } from './printable';
import { issuesText, linesText } from './report';

/** A file with the result of its check. */
export interface CheckedFeed extends CheckedUpload {
  path: string;
  check: FeedCheck;
  /** How to read a file that an upload without a format refuses; null: not needed. */
  advice: CheckAdvice | null;
}

/** Something that only the service knows. */
interface OpenPoint {
  about: string;
  message: string;
}

/** Lists what a check cannot tell. */
function openPoints({ format, mode, check }: CheckedFeed): OpenPoint[] {
  const points: (OpenPoint | false)[] = [
    format === null && {
      about: 'default_format',
      message: 'A partner with a format named default: an upload that names none is read by it.',
    },
    mode === 'update' && {
      about: 'unknown_skus',
      message: 'Skus that the partner does not have: mode update skips their rows.',
    },
    mode === 'replace' && {
      about: 'withdrawals',
      message: 'Products that mode replace withdraws, and whether they are too many.',
    },
    format?.definition.keep_when_empty !== undefined && {
      about: 'known_products',
      message: 'Stored values that empty cells keep: the check assumes that no product exists.',
    },
    !check.hasCurrencies && {
      about: 'default_currency',
      message: 'The default currency of orders: no row has a currency.',
    },
    { about: 'newer_feeds', message: 'Newer feeds of the partner that are loaded already.' },
    { about: 'price_jumps', message: 'Prices that rise or fall by a factor of five or more.' },
  ];
  return points.filter((point) => point !== false);
}

/** Returns the text of a refusal, with the violated rules of a form. */
export function refusalText({ message, data: { shapeErrors } }: ServiceError): string {
  if (!shapeErrors) return message;
  return shapeErrors.map(({ loc, msg }) => `${loc.slice(1).join('.')}: ${msg}`).join('\n');
}

/** Makes the JSON of a check. @param issuesMax - absent: all that are kept */
export function checkBody(checked: CheckedFeed, issuesMax?: number) {
  const { fileName, format, mode, check, advice } = checked;
  const { refusal, runFailure, rows, loadable, skipped, superseded, issueCounts, issues } = check;
  return {
    file: fileName,
    format: format?.name ?? null,
    mode,
    accepted: refusal === null,
    refusal: refusal && { error_code: refusal.code, message: refusalText(refusal) },
    run_failure: runFailure,
    summary: { rows, loadable, skipped, superseded },
    issue_counts: issueCounts,
    issues: issues.slice(0, issuesMax).map(issueBody),
    open: openPoints(checked),
    hint: advice?.hint ?? null,
    suggested_format: advice?.suggestedFormat ?? null,
    draft_format: advice?.draftFormat ?? null,
    headers: (advice?.headers ?? []).map(headerBody),
    doubts: (advice?.doubts ?? []).map(({ choices, ...doubt }) => ({
      ...doubt,
      choices: choices.map(({ valuePointer, ...choice }) => ({ ...choice, value_pointer: valuePointer })),
    })),
  };
}

/** Formats a check for people, with colors in a terminal. */
export function textReport(checked: CheckedFeed, issuesShown: number): string {
  const { fileName, check } = checked;
  const { refusal, issueCounts, issues } = check;
  const verdict = styleText(styleOf(check), printable(`${fileName}: ${verdictText(check)}`));
  if (refusal)
    return `${verdict}\n${linesText([...refusalText(refusal).split('\n'), ...adviceLines(checked)])}`;
  return (
    `${verdict}\n\n${countersText(check)}` +
    (issueCounts.length > 0 ? issuesText(issueCounts, issues.slice(0, issuesShown).map(issueBody)) : '') +
    `\n${linesText(['Not checked, because only the service knows it:', ...openPoints(checked).map(({ message }) => `- ${message}`)])}`
  );
}

function styleOf({ refusal, runFailure, skipped }: FeedCheck): 'red' | 'yellow' | 'green' {
  if (refusal || runFailure !== null) return 'red';
  return skipped > 0 ? 'yellow' : 'green';
}

/** Returns in one sentence what an upload and its run would do. */
export function verdictText({ refusal, runFailure, rows, loadable }: FeedCheck): string {
  if (refusal) return 'an upload would refuse it.';
  if (runFailure !== null) return `a run would fail. ${runFailure}`;
  return `a first run would load ${countText(loadable)} of ${countText(rows)} rows.`;
}

function countersText({ rows, loadable, skipped, superseded }: FeedCheck): string {
  return Object.entries({ rows, loadable, skipped, superseded })
    .map(([name, count]) => `${name.padEnd(10)} ${countText(count).padStart(13)}\n`)
    .join('');
}

/** Gives the advice of an inspection, with the format as it can be saved in a file. */
function adviceLines({ advice }: CheckedFeed): string[] {
  if (!advice) return [];
  const { hint, suggestedFormat, draftFormat, doubts, headers } = advice;
  const lines = adviceOf({
    accepted: false,
    hint,
    headers: headers.map(headerBody),
    suggested_format: suggestedFormat,
    draft_format: draftFormat,
  });
  if (suggestedFormat)
    return [
      ...lines,
      'Or save this as F.json, and name it with --format F.json:',
      printableJson(suggestedFormat, 0),
    ];
  return [...lines, ...doubts.map(({ about, message }) => `In doubt: ${about}: ${message}`)];
}

const headerBody = ({ columnNumber, ...header }: InspectedHeader) => ({
  column_number: columnNumber,
  ...header,
});
