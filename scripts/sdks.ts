import { execFile } from 'node:child_process';
import { copyFile, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const modules = join(__dirname, '..', 'node_modules');
/** The programs of users, one for each generator, compiled and run with its client. */
const clients = join(__dirname, '..', 'test', 'contract', 'clients');

/** An SDK generator and its command, called in the folder of all clients. */
interface Generator {
  name: string;
  folder: string;
  command: string;
  arguments: string[];
  /** A file to create first. */
  file?: { path: string; content: string };
  /** A file of the clients that the generator reads, and its name beside the generated ones. */
  part?: [file: string, name: string];
}

const specification = 'openapi.yaml';

/** The supported generators, called as their users call them. All work offline. */
export const generators = {
  openapiFetch: {
    name: 'openapi-typescript + openapi-fetch',
    folder: 'openapi-fetch',
    command: 'openapi-typescript',
    arguments: [specification, '--output', 'openapi-fetch/schema.ts'],
    file: {
      path: 'openapi-fetch/client.ts',
      content: `import createClient from 'openapi-fetch';
import type { paths } from './schema.js';

export const connect = (baseUrl: string, key: string) =>
  createClient<paths>({ baseUrl, headers: { 'x-api-key': key } });
`,
    },
  },
  heyApi: {
    name: '@hey-api/openapi-ts',
    folder: 'hey-api',
    command: 'openapi-ts',
    arguments: ['--input', specification, '--output', 'hey-api', '--no-log-file'],
  },
  orval: {
    name: 'orval (fetch)',
    folder: 'orval',
    command: 'orval',
    arguments: ['--config', 'orval.config.cjs'],
    file: {
      path: 'orval.config.cjs',
      content: `module.exports = {
  catalog: {
    input: '${specification}',
    output: {
      target: 'orval/client.ts',
      client: 'fetch',
      override: {
        // Else it makes a type for each status of each operation.
        fetch: { includeHttpResponseReturnType: false },
        // Else there is no base URL, and no error.
        mutator: { path: 'orval/mutator.ts', name: 'request' },
      },
    },
  },
};
`,
    },
    part: ['orval.mutator.ts', 'mutator.ts'],
  },
  swaggerTypescriptApi: {
    name: 'swagger-typescript-api',
    folder: 'swagger-typescript-api',
    command: 'swagger-typescript-api',
    arguments: [
      ...['generate', '--path', specification, '--output', 'swagger-typescript-api', '--name', 'client.ts'],
      ...['--enum-style', 'union', '--silent'],
    ],
  },
  oazapfts: {
    name: 'oazapfts',
    folder: 'oazapfts',
    command: 'oazapfts',
    arguments: [specification, 'oazapfts/client.ts'],
  },
} satisfies Record<string, Generator>;

export interface Client {
  generator: Generator;
  seconds: number;
  /** TypeScript by path. */
  sources: Record<string, string>;
}

/** Prepares a folder for clients of a document, with the packages of this project. */
export async function prepareFolder(folder: string, document: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await symlink(modules, join(folder, 'node_modules'));
  await writeFile(join(folder, specification), document);
  await copyFile(join(clients, 'story.ts'), join(folder, 'story.ts'));
}

export async function generate(generator: Generator, folder: string): Promise<Client> {
  const { file, part } = generator;
  const output = join(folder, generator.folder);
  await mkdir(output, { recursive: true });
  if (file) await writeFile(join(folder, file.path), file.content);
  if (part) await copyFile(join(clients, part[0]), join(output, part[1]));
  const startedAt = performance.now();
  await run(join(modules, '.bin', generator.command), generator.arguments, { cwd: folder });
  const seconds = (performance.now() - startedAt) / 1000;
  const sources = await readSources(output);
  // Afterwards: hey-api clears its folder.
  await copyFile(join(clients, `${generator.folder}.ts`), join(output, 'program.ts'));
  return { generator, seconds, sources };
}

async function readSources(folder: string): Promise<Record<string, string>> {
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = files.filter((file) => file.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  return Object.fromEntries(
    await Promise.all(paths.map(async (path) => [path, await readFile(path, 'utf8')] as const)),
  );
}

export interface Names {
  /** Names of the document, in any form. */
  given: readonly string[];
  required: readonly string[];
}

/** Lists invented names and missing names of a client. */
export function nameProblems({ generator, sources }: Client, { given, required }: Names): string[] {
  const text = Object.values(sources).join('\n');
  const words = new Set(text.match(/\b[A-Za-z_$][\w$]*\b/g));
  return [
    ...exportedNames(sources)
      .filter((name) => !given.includes(name) && isInvented(name))
      .map((name) => `${generator.name} invents the name ${name}: give the schema one.`),
    ...required
      .filter((name) => !words.has(name))
      .map((name) => `${generator.name} has nothing called ${name}.`),
  ];
}

/** The names that users of a client can import. */
export function exportedNames(sources: Record<string, string>): string[] {
  const declaration =
    /^export (?:declare |async |abstract )*(?:type|interface|const|function|class|enum) (\w+)/gm;
  return Object.values(sources).flatMap((text) => [...text.matchAll(declaration)].map((match) => match[1]!));
}

/** Whether a generator invented the name: `Inline_response_200_3`, `Error_2`, `Response200`, `Body1`, `AnyOf`. */
export function isInvented(name: string): boolean {
  return /inline|anonymous|_\d+(_|$)|[a-z]\d+$|(any|one|all)of/i.test(name);
}

/** Typical code of users, compiled with the clients: their types must allow it. */
const programs: Record<string, string> = {
  // A closed type of an extensible enum could not be compared with a new value.
  'openapi-fetch/new-value.ts': newValue('./schema', 'components', "components['schemas']['RowIssueCode']"),
  'hey-api/new-value.ts': newValue('./types.gen', 'RowIssueCode', 'RowIssueCode'),
  'openapi-fetch/summary.ts': summary(
    "import type { components } from './schema';",
    (name) => `components['schemas']['${name}']`,
  ),
  'hey-api/summary.ts': summary("import type { Job, RunSummary } from './types.gen';", (name) => name),
};

function newValue(module: string, imported: string, type: string): string {
  return `import type { ${imported} } from '${module}';
type Code = ${type};
export const sent: Code = 'a_code_of_tomorrow';
export function remedyOf(code: Code): string {
  switch (code) {
    case 'invalid_price':
      return 'Write a decimal point.';
    case 'a_code_of_tomorrow':
      return 'Read the message.';
    default:
      return code;
  }
}
`;
}

/** The summary of a job is a summary of a run or null, and nothing else. */
function summary(imports: string, type: (name: string) => string): string {
  return `${imports}
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
export const isSummaryOrNull: Equal<${type('Job')}['summary'], ${type('RunSummary')} | null> = true;
export const counters: ${type('RunSummary')} = { processed: 3, inserted: 2, updated: 0, unchanged: 0, skipped: 1, withdrawn: 0, restored: 0 };
`;
}

/** Compiles all clients, and programs that use them, as a strict project. @throws Error with the output of the compiler */
export async function compile(folder: string): Promise<void> {
  const options = {
    target: 'es2022',
    lib: ['es2022', 'dom', 'dom.iterable'],
    module: 'esnext',
    moduleResolution: 'bundler',
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: [],
  };
  const include = Object.values(generators).map((generator) => `${generator.folder}/**/*.ts`);
  for (const [path, content] of Object.entries(programs)) await writeFile(join(folder, path), content);
  const project = join(folder, 'tsconfig.json');
  await writeFile(project, JSON.stringify({ compilerOptions: options, include }));
  try {
    await run(join(modules, '.bin', 'tsc'), ['--project', project], { cwd: dirname(project) });
  } catch (error) {
    const words = (error as { stdout?: string }).stdout ?? String(error);
    throw new Error(`The clients do not compile:\n${words}`, { cause: error });
  }
}
