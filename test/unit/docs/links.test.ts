import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { project } from '../../support/harness';

const docs = readdirSync(join(project, 'docs'), { recursive: true, encoding: 'utf8' });
const pages = [
  'README.md',
  ...docs.filter((path) => path.endsWith('.md')).map((path) => join('docs', path)),
  'spec/CHANGELOG.md',
  'test/faults/README.md',
  'test/hostile/owasp-api-top-10.md',
];

interface Link {
  page: string;
  target: string;
}

/** The text of a page without its code, which contains no links or headings. */
function readProse(page: string): string {
  return readFileSync(join(project, page), 'utf8')
    .replaceAll(/^(```+).*?^\1$/gms, '')
    .replaceAll(/`[^`\n]+`/g, (code) => code.replaceAll(/[[\]()#]/g, ' '));
}

function localLinks(page: string): Link[] {
  const targets = Array.from(readProse(page).matchAll(/\]\(([^)\s]+)\)/g), ([, target]) => target!);
  return targets.filter((target) => !/^(https?|mailto):/.test(target)).map((target) => ({ page, target }));
}

/** The anchors that GitHub assigns to the headings of a page. */
function anchorsOf(page: string): Set<string> {
  const text = readFileSync(join(project, page), 'utf8').replaceAll(/^(```+).*?^\1$/gms, '');
  const anchors = new Set<string>();
  for (const [, heading] of text.matchAll(/^#{1,6} +(.+)$/gm)) {
    const plain = heading!.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const slug = plain.replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, '').replaceAll(' ', '-');
    let anchor = slug;
    for (let repeat = 1; anchors.has(anchor); repeat++) anchor = `${slug}-${repeat}`;
    anchors.add(anchor);
  }
  return anchors;
}

/** The target file of a link, relative to the root of the repository, and its anchor. */
function resolveLink({ page, target }: Link): { file: string; anchor: string | undefined } {
  const [path, anchor] = target.split('#') as [string, string?];
  const file = path ? relative(project, resolve(project, dirname(page), decodeURI(path))) : page;
  return { file, anchor };
}

describe('the documentation', () => {
  it.each(pages)('%s has no broken link', (page) => {
    const broken = localLinks(page).filter((link) => {
      const { file, anchor } = resolveLink(link);
      if (!existsSync(join(project, file))) return true;
      return anchor !== undefined && !anchorsOf(file).has(anchor);
    });

    expect(broken).toEqual([]);
  });

  it('has a front page of at most 180 lines: README.md', () => {
    expect(readFileSync(join(project, 'README.md'), 'utf8').trimEnd().split('\n').length).toBeLessThanOrEqual(
      180,
    );
  });

  it('links every page from README.md', () => {
    const reached = new Set(['README.md']);
    for (const page of reached) {
      const files = localLinks(page).map((link) => resolveLink(link).file);
      for (const file of files) if (file.endsWith('.md')) reached.add(file);
    }

    expect(pages.filter((page) => !reached.has(page))).toEqual([]);
  });
});
