/**
 * Generates files from their sources: types and JSON of the contract, schema dump, reference pages, `.env.example`. Copies the version
 * of the document to the files that repeat it.
 *
 * usage: generate [--check]    with --check: writes nothing, fails if a file differs
 */
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OpenAPIV3 } from 'openapi-types';
import { parse } from 'yaml';
import { openDatabase } from '../src/base/db/database';
import { startEmbeddedPostgres } from '../src/base/embedded-postgres/server';
import { migrateToLatest } from '../src/operation/database/migrate';
import { describeSchema } from './describe-schema';
import { withVersion } from './project-version';
import { commandLinePage } from './reference/command-line';
import { errorsPage } from './reference/errors';
import { limitsPage } from './reference/limits';
import { rowIssuesPage } from './reference/row-issues';
import { envExample, settingsPage } from './reference/settings';
import { metricsAndLogsPage } from './reference/telemetry';

const root = join(__dirname, '..');
const specification = join(root, 'spec', 'openapi.yaml');

async function main(): Promise<void> {
  const document = parse(readFileSync(specification, 'utf8')) as OpenAPIV3.Document;
  const made: Record<string, string> = {
    'generated/openapi.d.ts': await makeTypes(document),
    'generated/openapi.json': `${JSON.stringify(document, null, 2)}\n`,
    'generated/schema.sql': await makeSchema(),
    'docs/reference/command-line.md': await formatPage(commandLinePage()),
    'docs/reference/errors.md': await formatPage(errorsPage(document)),
    'docs/reference/limits.md': await formatPage(limitsPage()),
    'docs/reference/metrics-and-logs.md': await formatPage(metricsAndLogsPage()),
    'docs/reference/row-issues.md': await formatPage(rowIssuesPage()),
    'docs/reference/settings.md': await formatPage(settingsPage()),
    '.env.example': envExample(),
    ...withVersion(root, document.info.version),
  };
  const stale: string[] = [];
  for (const [path, content] of Object.entries(made)) {
    const file = join(root, path);
    if (existsSync(file) && readFileSync(file, 'utf8') === content) continue;
    stale.push(path);
    if (!process.argv.includes('--check')) writeFileSync(file, content);
  }
  if (stale.length === 0) console.log('generated files are up to date');
  else if (process.argv.includes('--check')) {
    console.error(`${stale.join(', ')} differs from its source. Run: make generate`);
    process.exitCode = 1;
  } else console.log(`written: ${stale.join(', ')}`);
}

async function formatPage(text: string): Promise<string> {
  const { format, resolveConfig } = await import('prettier');
  const options = await resolveConfig(join(root, 'README.md'));
  return format(text, { ...options, parser: 'markdown' });
}

async function makeTypes(document: OpenAPIV3.Document): Promise<string> {
  const { default: openapiTS, astToString, COMMENT_HEADER } = await import('openapi-typescript');
  return COMMENT_HEADER + astToString(await openapiTS(forTypes(document)));
}

/**
 * Makes what openapi-typescript does not read part of the types: the codes of each error (`x-error-codes`). Replaces references to
 * optional headers: it takes every referenced header for a required one.
 */
function forTypes(document: OpenAPIV3.Document): string {
  const headers = document.components!.headers as Record<string, OpenAPIV3.HeaderObject>;
  return JSON.stringify(document, (_key, node: unknown) => {
    const { $ref, 'x-error-codes': codes } = (node ?? {}) as { $ref?: string; 'x-error-codes'?: string[] };
    if (codes) {
      const response = node as OpenAPIV3.ResponseObject;
      const { 'x-error-codes': _codes, ...rest } = node as Record<string, unknown>;
      const code = { required: true, schema: { type: 'string', enum: codes } };
      return { ...rest, headers: { ...response.headers, 'x-error-code': code } };
    }
    const header = headers[$ref?.replace('#/components/headers/', '') ?? ''];
    return header && !header.required ? header : node;
  });
}

/** Returns the dump of the schema. A dump with the digest of these migrations is kept: PostgreSQL takes seconds to start. */
async function makeSchema(): Promise<string> {
  const head = `-- Made from migrations/ (${digestMigrations()}) by "make generate". Do not edit.\n\n`;
  const kept = readFileSync(join(root, 'generated', 'schema.sql'), 'utf8');
  return kept.startsWith(head) ? kept : head + (await dumpSchema());
}

function digestMigrations(): string {
  const hash = createHash('sha256');
  const migrations = readdirSync(join(root, 'migrations')).sort();
  for (const file of [...migrations.map((name) => `migrations/${name}`), 'scripts/describe-schema.ts']) {
    hash.update(`${file}\0`);
    hash.update(readFileSync(join(root, file)));
  }
  return hash.digest('hex').slice(0, 16);
}

async function dumpSchema(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'catalog-schema-'));
  chmodSync(folder, 0o755);
  const postgres = await startEmbeddedPostgres(folder, { fsync: 'off' });
  const db = openDatabase(postgres.address, { applicationName: 'generate', connectionsMax: 2 });
  try {
    await migrateToLatest(db);
    return await describeSchema(db);
  } finally {
    await db.destroy();
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
