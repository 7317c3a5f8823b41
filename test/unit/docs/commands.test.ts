import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import packageJson from '../../../package.json';
import { project } from '../../support/harness';

const docs = readdirSync(join(project, 'docs'), { recursive: true, encoding: 'utf8' });
const pages = ['README.md', ...docs.filter((path) => path.endsWith('.md')).map((path) => join('docs', path))];
const read = (path: string) => readFileSync(join(project, path), 'utf8');
const targets = new Set(Array.from(read('Makefile').matchAll(/^([a-z-]+):/gm), ([, target]) => target!));

/** The code of a page: blocks, and inline code. */
function codeOf(page: string): string[] {
  return Array.from(read(page).matchAll(/^```\w*\n(.*?)^```|`([^`\n]+)`/gms), ([, block, piece]) => {
    return block ?? piece!;
  });
}

describe('commands in the documentation', () => {
  it.each(pages)('exist: %s', (page) => {
    const commands = codeOf(page).flatMap((code) => code.split('\n'));
    const made = commands.flatMap((line) => /^ *make ([^#&|]+)/.exec(line)?.[1]!.trim().split(' ') ?? []);
    const run = commands.flatMap((line) =>
      Array.from(line.matchAll(/\bnpm run (?:--silent )?([a-z-]+)/g), ([, script]) => script!),
    );

    expect(made.filter((word) => /^[a-z-]+$/.test(word) && !targets.has(word))).toEqual([]);
    expect(run.filter((script) => !(script in packageJson.scripts))).toEqual([]);
  });
});
