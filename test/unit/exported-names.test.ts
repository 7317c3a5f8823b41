import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { project } from '../support/harness';

const exported = /^export (?:async )?(?:function\*?|const|class|interface|type|enum) (\w+)/gm;

it('no two exports of src share a name', () => {
  const files = readdirSync(join(project, 'src'), { recursive: true, encoding: 'utf8' });
  const filesOf = new Map<string, Set<string>>();
  for (const file of files.filter((name) => /\.tsx?$/.test(name))) {
    for (const [, name] of readFileSync(join(project, 'src', file), 'utf8').matchAll(exported)) {
      filesOf.set(name!, (filesOf.get(name!) ?? new Set()).add(`src/${file}`));
    }
  }
  const repeated = [...filesOf].filter(([, where]) => where.size > 1);

  expect(filesOf.size).toBeGreaterThan(500);
  expect(
    repeated.map(
      ([name, where]) => `${name}, in ${[...where].join(' and ')}: rename one to what it really is`,
    ),
  ).toEqual([]);
});
