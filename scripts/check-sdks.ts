/**
 * Generates clients of the document with five SDK generators, compiles them in strict mode, checks their names, and
 * runs a program with each, and one by hand in Python, against the mock and the service.
 *
 * usage: check-sdks
 */
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OpenAPIV3 } from 'openapi-types';
import { parse } from 'yaml';
import { closeAll } from '../test/support/harness';
import { runPrograms, startServers } from './sdk-programs';
import { compile, generate, generators, nameProblems, prepareFolder, type Client, type Names } from './sdks';

const specification = join(__dirname, '..', 'spec', 'openapi.yaml');

async function main(): Promise<void> {
  const text = readFileSync(specification, 'utf8');
  const temporary = mkdtempSync(join(tmpdir(), 'catalog-sdks-'));
  const folder = join(temporary, 'clients');
  // The database must reach its folder, as another user.
  chmodSync(temporary, 0o755);
  await prepareFolder(folder, text);
  try {
    const clients = await Promise.all(
      Object.values(generators).map((generator) => generate(generator, folder)),
    );
    for (const client of clients) console.log(describe(client));
    const names = namesOf(parse(text) as OpenAPIV3.Document);
    const problems = clients.flatMap((client) => nameProblems(client, names));
    for (const problem of problems) console.error(problem);
    if (problems.length > 0) process.exitCode = 1;
    const startedAt = performance.now();
    await compile(folder);
    console.log(`all compile under strict, ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
    const servers = await startServers(temporary);
    for (const line of await runPrograms(folder, servers)) console.log(line);
  } finally {
    await closeAll();
    rmSync(temporary, { recursive: true, force: true });
  }
}

function namesOf({ paths, components }: OpenAPIV3.Document): Names {
  const operationIds = Object.values(paths).flatMap((item) =>
    Object.values(item as Record<string, OpenAPIV3.OperationObject>).flatMap(
      ({ operationId }) => operationId ?? [],
    ),
  );
  const { schemas = {}, ...parts } = components ?? {};
  // Not every generator reads extensions, such as `x-webhooks` and `x-known-values`: a client may lack names that nothing
  // else refers to.
  const reached = new Set<string>();
  const reach = (part: unknown): void => {
    for (const [, name = ''] of JSON.stringify(part, withoutExtensions).matchAll(
      /"#\/components\/schemas\/(\w+)"/g,
    )) {
      if (reached.has(name)) continue;
      reached.add(name);
      reach(schemas[name]);
    }
  };
  reach([paths, parts]);
  // Plain text schemas need not become types.
  const shapes = [...reached].filter((name) => 'properties' in schemas[name]! || 'enum' in schemas[name]!);
  return { given: Object.keys(schemas), required: [...operationIds, ...shapes] };
}

function withoutExtensions(name: string, value: unknown): unknown {
  return name.startsWith('x-') && name !== 'x-error-code' ? undefined : value;
}

function describe({ generator, seconds, sources }: Client): string {
  const texts = Object.values(sources);
  const kilobytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0) / 1000;
  const lines = texts.reduce((sum, text) => sum + text.split('\n').length, 0);
  return [
    generator.name.padEnd(36),
    `${texts.length} files`.padStart(9),
    `${kilobytes.toFixed(0)} kB`.padStart(8),
    `${lines} lines`.padStart(12),
    `${seconds.toFixed(1)} s`.padStart(8),
  ].join('');
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
