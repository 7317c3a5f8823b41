/**
 * Lists the changes of the document since its last release. Fails unless version and spec/CHANGELOG.md agree: a breaking change
 * needs a new major version and an entry, an addition a new minor version.
 *
 * usage: contract-diff
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OpenAPIV3 } from 'openapi-types';
import { parse } from 'yaml';
import { compareContracts } from './contract-changes';
import { judge } from './contract-verdict';

const spec = join(__dirname, '..', 'spec');
const current = join(spec, 'openapi.yaml');
const released = join(spec, 'released', 'openapi.yaml');

function main(): void {
  const [base, revision] = [released, current].map(
    (file) => parse(readFileSync(file, 'utf8')) as OpenAPIV3.Document,
  ) as [OpenAPIV3.Document, OpenAPIV3.Document];
  const changes = compareContracts(base, revision);
  console.log(`since ${base.info.version}: ${changes.length || 'no'} changes of the contract`);
  for (const { impact, subject, message } of changes) console.log(`  ${impact}  ${subject}: ${message}`);

  const problems = judge({
    released: base.info.version,
    version: revision.info.version,
    changelog: readFileSync(join(spec, 'CHANGELOG.md'), 'utf8'),
    changes,
  });
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
}

main();
