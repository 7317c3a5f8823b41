import { issueCodes, type IssueCode } from '../../src/feed-format/issue-codes';
import { code, codeBlock, page, table } from './markdown';

/** Longer examples, and those with control characters, are omitted. */
const exampleCharactersMax = 120;

export function rowIssuesPage(): string {
  const issues = Object.entries<IssueCode>(issueCodes);
  return page(
    'Row issue codes',
    'src/feed-format/issue-codes.ts',
    '`GET /jobs/{job_id}/issues` lists the issues of the last run. With an **error**, the row is skipped. With a **warning**,' +
      ' the row is loaded, but a value looks wrong; `repeated_header` is the exception. Codes are stable: a program can rely on them.',
    table(
      ['Code', 'Severity', 'Meaning'],
      issues.map(([name, { severity, description }]) => [`[${code(name)}](#${name})`, severity, description]),
    ),
    ...issues.flatMap(([name, issue]) => describe(name, issue)),
  );
}

function describe(name: string, { severity, description, remedy, example }: IssueCode): string[] {
  const isShown = example.length <= exampleCharactersMax && !/[^\P{Cc}\n]/u.test(example);
  return [
    `## \`${name}\``,
    `${severity === 'error' ? 'Error' : 'Warning'}. ${description}`,
    `**What to do:** ${remedy}`,
    ...(isShown ? [codeBlock('csv', example)] : []),
  ];
}
