import { relative } from 'node:path';
import type { RowIssue } from '../../feed-format/rows/row-issues';
import { isWorkbookName } from '../workbook/file-kind';
import { printable } from './printable';
import { refusalText, verdictText, type CheckedFeed } from './check-report';

/**
 * Formats a check as workflow commands of GitHub Actions, which annotate the lines of the file.
 * See "Workflow commands for GitHub Actions" in its documentation.
 * @param workspace - the folder from which GitHub names files
 */
export function githubReport({ path, check }: CheckedFeed, issuesShown: number, workspace: string): string {
  // The lines of a workbook are those of the CSV file that is made of it.
  const hasLines = !isWorkbookName(path);
  // Standard input has no file to annotate.
  const file = path === '-' ? undefined : relative(workspace, path);
  const { refusal, runFailure, issues } = check;
  const lines = errorsFirst(issues)
    .slice(0, issuesShown)
    .sort((a, b) => a.line - b.line)
    .map(({ line, lastLine, code, severity, message, sku, value }) => {
      const details = [sku === null ? [] : `sku ${sku}`, value === null ? [] : `value ${value}`].flat();
      const text = details.length > 0 ? `${message} (${details.join(', ')})` : message;
      return hasLines
        ? command(severity, { file, line, endLine: lastLine, title: code }, text)
        : command(severity, { file, title: code }, `Line ${line}: ${text}`);
    });
  if (refusal) lines.push(command('error', { file, title: refusal.code }, refusalText(refusal)));
  else if (runFailure !== null) lines.push(command('error', { file, title: 'run_failure' }, runFailure));
  lines.push(command('notice', { file, title: 'partner-feed check' }, verdictText(check)));
  return lines.join('');
}

/** GitHub shows ten annotations of each severity: many warnings must not displace the errors. */
const errorsFirst = (issues: readonly RowIssue[]) =>
  issues.toSorted((a, b) => Number(b.severity === 'error') - Number(a.severity === 'error'));

type Properties = Record<string, string | number | undefined>;

function command(name: 'error' | 'warning' | 'notice', properties: Properties, message: string): string {
  const given = Object.entries(properties).filter(([, value]) => value !== undefined);
  const listed = given.map(([key, value]) => `${key}=${escapedProperty(String(value))}`).join(',');
  return `::${name} ${listed}::${escapedData(printable(message))}\n`;
}

const escapedData = (text: string) =>
  text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');

const escapedProperty = (text: string) => escapedData(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
