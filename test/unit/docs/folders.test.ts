import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { project } from '../../support/harness';

const readme = readFileSync(join(project, 'README.md'), 'utf8');
const map = /## The folders\n\n```\n(.*?)\n```/s.exec(readme)![1]!;

describe('the map of the folders in the README', () => {
  it('lists every folder and file of src, and no other', () => {
    const sources = /^src\/\n(.*?)^\S/ms.exec(map)![1]!;
    const described = Array.from(
      sources.matchAll(/(?:^ {2}|, | )([a-z-]+\/|[a-z]+\.ts)(?=[, ]|$)/gm),
      ([, name]) => name!.replace('/', ''),
    );

    expect(described.sort()).toEqual(readdirSync(join(project, 'src')).sort());
  });
});
