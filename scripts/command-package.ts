/**
 * Packs the command of partners as an npm package: the built file, its types and a README, without dependencies.
 *
 * usage: command-package [FOLDER]    writes partner-feed-VERSION.tgz into FOLDER; default: dist
 */
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { engines, version } from '../package.json';

const root = join(__dirname, '..');
const file = 'partner-feed.cjs';

/** The schemas of results with `--json`, with names of their own; `Schemas` has all. */
const results = [
  'FeedInspection',
  'FeedList',
  'FeedReceipt',
  'Format',
  'FormatDefinition',
  'FormatList',
  'Job',
  'JobPlan',
  'OrderList',
  'PartnerList',
  'ProductList',
  'RowIssueList',
  'RunChanges',
  'RunRevert',
  'Source',
  'SourceFetch',
  'SourceFetchList',
  'SourceList',
];

const types = `import type { components } from './openapi';

export type { components, operations, paths } from './openapi';

/** The schemas of the API by name. */
export type Schemas = components['schemas'];

${results.map((name) => `export type ${name} = Schemas['${name}'];\n`).join('')}
/** The result of a failed command with --json. */
export interface CommandFailure {
  error: {
    message: string;
    exit_code: number;
    status?: number;
    error_code?: string;
    request_id?: string;
    response?: unknown;
    inspection?: FeedInspection;
  };
}
`;

const manifest = {
  name: 'partner-feed',
  version,
  description:
    'Upload product feeds, load them and see the results: the command of the Partner Catalog Integration Service.',
  engines,
  bin: { 'partner-feed': file },
  types: 'index.d.ts',
  files: [file, 'index.d.ts', 'openapi.d.ts', 'THIRD-PARTY-LICENSES.txt'],
};

/** Returns the licenses of the packages that are part of the file: they ask for it. */
function licensesOf(bundle: string): string {
  const packages = new Set(
    Array.from(bundle.matchAll(/^\/\/ node_modules\/((?:@[^/\n]+\/)?[^/\n]+)\//gm), ([, name]) => name!),
  );
  const texts = [...packages].sort().map((name) => {
    const folder = join(root, 'node_modules', name);
    const license = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
    // Some packages have no file for it, but name it.
    const source = join(folder, license ?? 'package.json');
    return `${name}\n${'-'.repeat(name.length)}\n${readFileSync(source, 'utf8').trim()}\n`;
  });
  return texts.join('\n\n');
}

function main(target: string): void {
  const folder = mkdtempSync(join(tmpdir(), 'partner-feed-'));
  const built = join(root, 'dist/cli', file);
  try {
    copyFileSync(built, join(folder, file));
    copyFileSync(join(root, 'generated/openapi.d.ts'), join(folder, 'openapi.d.ts'));
    copyFileSync(join(root, 'src/clients/cli/README.md'), join(folder, 'README.md'));
    writeFileSync(join(folder, 'index.d.ts'), types);
    writeFileSync(join(folder, 'THIRD-PARTY-LICENSES.txt'), licensesOf(readFileSync(built, 'utf8')));
    writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
    mkdirSync(target, { recursive: true });
    const packed = ['pack', '--silent', '--pack-destination', target];
    console.log(join(target, execFileSync('npm', packed, { cwd: folder, encoding: 'utf8' }).trim()));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

main(resolve(process.argv[2] ?? join(root, 'dist')));
