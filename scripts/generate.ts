/**
 * Makes everything in `generated/` from its source: the types and the JSON form of the document, and a description of the
 * schema that the migrations build.
 *
 * usage: generate [--check]    with --check: writes nothing, fails when something is not as it would be made
 */
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { openDatabase } from '../src/db/database';
import { startEmbeddedPostgres } from '../src/db/embedded-postgres';
import { migrateToLatest } from '../src/db/migrate';
import { describeSchema } from './describe-schema';

const root = join(__dirname, '..');
const specification = join(root, 'spec', 'openapi.yaml');

async function main(): Promise<void> {
  const made: Record<string, string> = {
    'openapi.d.ts': await makeTypes(),
    'openapi.json': `${JSON.stringify(parse(readFileSync(specification, 'utf8')), null, 2)}\n`,
    'schema.sql': await makeSchema(),
  };
  const stale: string[] = [];
  for (const [name, content] of Object.entries(made)) {
    const file = join(root, 'generated', name);
    if (existsSync(file) && readFileSync(file, 'utf8') === content) continue;
    stale.push(`generated/${name}`);
    if (!process.argv.includes('--check')) writeFileSync(file, content);
  }
  if (stale.length === 0) console.log('generated/ is up to date');
  else if (process.argv.includes('--check')) {
    console.error(`${stale.join(', ')} is not what its source makes of it. Run: make generate`);
    process.exitCode = 1;
  } else console.log(`written: ${stale.join(', ')}`);
}

async function makeTypes(): Promise<string> {
  const { default: openapiTS, astToString, COMMENT_HEADER } = await import('openapi-typescript');
  return COMMENT_HEADER + astToString(await openapiTS(new URL(`file://${specification}`)));
}

async function makeSchema(): Promise<string> {
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
