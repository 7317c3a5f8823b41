import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { project } from '../../support/harness';

const readme = readFileSync(join(project, 'README.md'), 'utf8');
const map = /## The folders\n\n```\n(.*?)\n```/s.exec(readme)![1]!;

const sources = /^src\/ .*?\n(.*?)^\S/ms.exec(map)![1]!;
const foldersOf = (folder: string) =>
  readdirSync(join(project, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();

describe('the map of the folders in the README', () => {
  it('lists every folder and file of src, and no other', () => {
    const folders = Array.from(sources.matchAll(/^ {2}([a-z-]+)\/ /gm), ([, name]) => name!);
    const files = /^ {2}(\S.*?\.ts) {2}/m.exec(sources)![1]!.split(', ');

    expect([...folders, ...files].sort()).toEqual(readdirSync(join(project, 'src')).sort());
  });

  it.each(foldersOf('src'))('names the subfolders of %s', (folder) => {
    const line = new RegExp(`^ {2}${folder}/ +(.*)$`, 'm').exec(sources)![1]!;
    const described = Array.from(line.matchAll(/\b([a-z-]+)\//g), ([, name]) => name!);

    expect(described.sort()).toEqual(foldersOf(`src/${folder}`));
  });

  it('has at most ten folders of src', () => {
    expect(foldersOf('src').length).toBeLessThanOrEqual(10);
  });
});
