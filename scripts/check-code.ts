/**
 * Checks types and code. TypeScript and ESLint share their programs: separately, each of them parses and checks everything. After
 * a run without problems, the next one checks only changed files and their dependents.
 *
 * usage: check-code
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { ESLint, type Linter } from 'eslint';
import ts from 'typescript';

const root = join(__dirname, '..');
const projects = ['tsconfig.json', 'src/clients/console/tsconfig.json'];
/** TypeScript's state of the checked files. */
const state = join(root, 'dist', 'checked');

async function main(): Promise<void> {
  forgetOldRules();
  const programs = projects.map(openProgram);
  const problems: string[] = [];
  for (const { builder, affected } of programs) {
    problems.push(...describeDiagnostics(builder));
    const programs = [builder.getProgram()];
    const parserOptions = { projectService: false, programs };
    const eslint = createLinter({ languageOptions: { parserOptions } });
    problems.push(await lint(eslint, affected));
  }
  const known = new Set(programs.flatMap(({ files }) => files));
  const ignores = [(file: string) => known.has(file)] as unknown as string[];
  problems.push(await lint(createLinter({ ignores }), ['.']));
  process.stderr.write(problems.join(''));
  if (problems.some((problem) => problem !== '')) process.exitCode = 1;
  else for (const { builder } of programs) builder.emit();
}

/** Checks everything again after a change of rules or packages. */
function forgetOldRules(): void {
  const hash = createHash('sha256');
  for (const file of ['eslint.config.mjs', 'package-lock.json', ...projects]) {
    hash.update(readFileSync(join(root, file)));
  }
  const rules = hash.digest('hex');
  const file = join(state, 'rules');
  if (existsSync(file) && readFileSync(file, 'utf8') === rules) return;
  rmSync(state, { recursive: true, force: true });
  mkdirSync(state, { recursive: true });
  writeFileSync(file, rules);
}

interface Project {
  builder: ts.EmitAndSemanticDiagnosticsBuilderProgram;
  files: string[];
  /** Lists changed files and their dependents. */
  affected: string[];
}

function openProgram(path: string, index: number): Project {
  const { config } = ts.readConfigFile(join(root, path), (file) => ts.sys.readFile(file));
  const { options, fileNames: files } = ts.parseJsonConfigFileContent(
    config,
    ts.sys,
    join(root, path, '..'),
    {
      noEmit: true,
      incremental: true,
      tsBuildInfoFile: join(state, `${index}.tsbuildinfo`),
      // If true, a change of a file affects no other file. ESLint reports what the option forbids: types exported as values.
      isolatedModules: false,
    },
    join(root, path),
  );
  const builder = ts.createIncrementalProgram({ rootNames: files, options });
  const own = new Set(files);
  const affected: string[] = [];
  for (;;) {
    const next = builder.getSemanticDiagnosticsOfNextAffectedFile();
    if (!next) break;
    // A change of global types affects the program.
    if ('fileName' in next.affected) affected.push(next.affected.fileName);
    else affected.push(...files);
  }
  return { builder, files, affected: [...new Set(affected)].filter((file) => own.has(file)) };
}

function describeDiagnostics(builder: Project['builder']): string[] {
  const diagnostics = [
    ...builder.getConfigFileParsingDiagnostics(),
    ...builder.getOptionsDiagnostics(),
    ...builder.getSyntacticDiagnostics(),
    ...builder.getGlobalDiagnostics(),
    ...builder.getSemanticDiagnostics(),
  ];
  return diagnostics.map((diagnostic) =>
    ts.formatDiagnostic(diagnostic, {
      getCanonicalFileName: (file) => file,
      getCurrentDirectory: () => root,
      getNewLine: () => '\n',
    }),
  );
}

const createLinter = (overrideConfig: Linter.Config) =>
  new ESLint({ cwd: root, overrideConfig, warnIgnored: false });

async function lint(eslint: ESLint, files: string[]): Promise<string> {
  if (files.length === 0) return '';
  const results = await eslint.lintFiles(files.map((file) => relative(root, file) || '.'));
  const formatter = await eslint.loadFormatter('stylish');
  return formatter.format(results);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
