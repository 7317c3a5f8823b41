/**
 * Releases the version of the document: makes it the last released one, commits this, and tags the commit.
 * The branch must be main, without changes, and the newest entry of spec/CHANGELOG.md, which `make contract-diff` has checked, must have
 * the date of today (UTC).
 *
 * usage: release    in the top folder of the repository
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { parse } from 'yaml';
import { readChangelog } from './contract-verdict';

const document = 'spec/openapi.yaml';
const released = 'spec/released/openapi.yaml';
const releaseInMakefile = /^# The code of release .*\nlast_release := .*$/m;

const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim();

const versionOf = (file: string) =>
  (parse(readFileSync(file, 'utf8')) as { info: { version: string } }).info.version;

function findProblems(version: string): string[] {
  const today = new Date().toISOString().slice(0, 10);
  const date = readChangelog(readFileSync('spec/CHANGELOG.md', 'utf8'))[0]?.date;
  const problems: [isProblem: boolean, text: string][] = [
    [git('branch', '--show-current') !== 'main', 'The branch is not main: switch to it.'],
    [git('status', '--porcelain') !== '', 'There are changes: commit them.'],
    [
      versionOf(released) === version,
      `${version} is released: raise info.version, and add an entry to spec/CHANGELOG.md.`,
    ],
    [git('tag', '--list', `v${version}`) !== '', `The tag v${version} exists.`],
    [date !== today, `The newest entry of spec/CHANGELOG.md has the date ${date}: commit it with ${today}.`],
    [!releaseInMakefile.test(readFileSync('Makefile', 'utf8')), 'The Makefile has no last_release.'],
  ];
  return problems.filter(([isProblem]) => isProblem).map(([, text]) => text);
}

function main(): void {
  const version = versionOf(document);
  const problems = findProblems(version);
  if (problems.length > 0) {
    for (const problem of problems) console.error(problem);
    process.exitCode = 1;
    return;
  }
  const commit = git('rev-parse', 'HEAD');
  copyFileSync(document, released);
  const makefile = readFileSync('Makefile', 'utf8');
  const line = `# The code of release ${version}; make release sets it.\nlast_release := ${commit}`;
  writeFileSync('Makefile', makefile.replace(releaseInMakefile, line));
  git('commit', '--quiet', '--message', `release: ${version}`, released, 'Makefile');
  git('tag', '--annotate', '--message', `Version ${version}`, `v${version}`);
  console.log(`released: ${version}. Publish it: git push --follow-tags`);
}

main();
