import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

const project = join(__dirname, '../..');
const list = readFileSync(join(__dirname, 'owasp-api-top-10.md'), 'utf8');
const entries = list.split(/^## /m).slice(1);

/** The titles in the source text of a test file. */
function titlesOf(file: string): Set<string> {
  const titles = new Set<string>();
  const collect = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && /^(?:describe|it)\b/.test(node.expression.getText())) {
      const [title] = node.arguments;
      if (title && ts.isStringLiteralLike(title)) titles.add(title.text);
    }
    ts.forEachChild(node, collect);
  };
  const path = join(project, file);
  collect(ts.createSourceFile(file, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true));
  return titles;
}

const references = [...list.matchAll(/^- `([^`]+)`(?:: (.*))?$/gm)].map(([, file, names = '']) => ({
  file: file!,
  titles: [...names.matchAll(/"([^"]+)"/g)].map(([, title]) => title!),
}));

describe('the checklist of the OWASP API Security Top 10', () => {
  it('has all ten entries, each with tests', () => {
    expect(entries.map((entry) => entry.slice(0, entry.indexOf(' ')))).toEqual(
      Array.from({ length: 10 }, (_, at) => `API${at + 1}:2023`),
    );
    for (const entry of entries) expect(entry).toMatch(/^- `test\/.+\.test\.ts`/m);
    // Every line with tests is checked.
    expect(references).toHaveLength(list.split('\n').filter((line) => line.startsWith('- ')).length);
  });

  it.each(references)('names only existing tests of $file', ({ file, titles }) => {
    expect(existsSync(join(project, file))).toBe(true);
    const written = titlesOf(file);

    expect(titles.filter((title) => !written.has(title))).toEqual([]);
  });
});
