import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import document from '../../../generated/openapi.json';
import { createTestFolder, project } from '../../support/harness';

const { version } = document.info;
const today = new Date().toISOString().slice(0, 10);
const author = { GIT_AUTHOR_NAME: 'a', GIT_AUTHOR_EMAIL: 'a@example.org' };
const env = { ...process.env, ...author, GIT_COMMITTER_NAME: 'a', GIT_COMMITTER_EMAIL: 'a@example.org' };

/** A repository with the files of a release, whose newest entry has this date. */
function createRepository(date = today) {
  const folder = createTestFolder();
  const git = (...args: string[]) => execFileSync('git', args, { cwd: folder, env, encoding: 'utf8' }).trim();
  const read = (file: string) => readFileSync(join(folder, file), 'utf8');
  const write = (file: string, text: string) => writeFileSync(join(folder, file), text);
  mkdirSync(join(folder, 'spec/released'), { recursive: true });
  for (const file of ['Makefile', 'spec/openapi.yaml', 'spec/CHANGELOG.md'])
    cpSync(join(project, file), join(folder, file));
  write('spec/released/openapi.yaml', 'info: { version: 0.0.1 }\n');
  write('spec/CHANGELOG.md', read('spec/CHANGELOG.md').replace(/^(## \[.+?\] - ).*/m, `$1${date}`));
  git('init', '--quiet', '--initial-branch=main');
  git('add', '.');
  git('commit', '--quiet', '--message', 'all: begin');
  const release = () =>
    spawnSync(join(project, 'node_modules/.bin/tsx'), [join(project, 'scripts/release.ts')], {
      cwd: folder,
      env,
      encoding: 'utf8',
    });
  return { git, read, write, release };
}

describe('make release', () => {
  it('commits the document as the last released one, with the commit of its code, and tags it once', () => {
    const { git, read, release } = createRepository();
    const code = git('rev-parse', 'HEAD');

    const { stdout, stderr } = release();

    expect({ stdout, stderr }).toEqual({
      stdout: `released: ${version}. Publish it: git push --follow-tags\n`,
      stderr: '',
    });
    expect(read('spec/released/openapi.yaml')).toBe(read('spec/openapi.yaml'));
    expect(read('Makefile')).toContain(
      `# The code of release ${version}; make release sets it.\nlast_release := ${code}\n`,
    );
    expect(git('status', '--porcelain')).toBe('');
    expect(git('log', '--format=%s', '-1', `v${version}`)).toBe(`release: ${version}`);

    const again = release();
    expect(again.status).toBe(1);
    expect(again.stderr).toContain(`${version} is released`);
    expect(again.stderr).toContain(`The tag v${version} exists.`);
  });

  it('changes nothing on another branch, with changes, or with the date of another day', () => {
    const { git, read, write, release } = createRepository('2026-01-31');
    git('switch', '--quiet', '--create', 'other');
    write('spec/openapi.yaml', `${read('spec/openapi.yaml')}# changed\n`);

    const { status, stderr } = release();

    expect(status).toBe(1);
    expect(stderr.trim().split('\n')).toEqual([
      'The branch is not main: switch to it.',
      'There are changes: commit them.',
      `The newest entry of spec/CHANGELOG.md has the date 2026-01-31: commit it with ${today}.`,
    ]);
    expect(git('tag')).toBe('');
    expect(read('spec/released/openapi.yaml')).toContain('0.0.1');
  });
});
