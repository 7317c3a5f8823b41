/**
 * Sends the same requests to two builds, and prints the differences of their responses. The exit code is 1 if they differ.
 *
 * usage: compare-answers --other=folder [--feeds=folder] [--only=recorded,feeds,sources,cli]
 *   --other  a checkout of another commit, with its packages and built
 *   --feeds  a folder with files of feeds, searched recursively
 *   --only   only these parts
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { withServices, type Service } from '../bench/servers';
import { buildIn } from '../service-process';
import { Client } from './client';
import { CommandLine } from './command-line';
import { tryFile } from './feeds';
import { forms, madeUpFiles, type FileToTry } from './made-up-files';
import { recordReplays } from './recorded';
import { fetchFile, serveFiles } from './sources';
import { Transcript } from './transcript';

const parts = ['recorded', 'feeds', 'sources', 'cli'] as const;
const project = join(__dirname, '..', '..');
const results = join(project, 'dist', 'compare-answers');
const names = ['other', 'present'] as const;
type Name = (typeof names)[number];

/** Files for the command line: they cause every kind of output. */
const ofCommandLine =
  /^(plain|CRLF|lone CR|byte order mark|UTF-16 LE|sep= line$|unclosed quote$|other headers|fill down|windows-1252|shift_jis|gzip$|empty|without header row|decimal comma|rejects)/;

async function main(): Promise<void> {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    options: { other: text, feeds: text, only: { ...text, default: parts.join() } },
  });
  if (values.other === undefined) throw new Error('--other names the folder of another build');
  const checkouts = { other: resolve(values.other), present: project };
  const files = [...madeUpFiles, ...(values.feeds === undefined ? [] : feedsBelow(resolve(values.feeds)))];
  const only = values.only.split(',');
  rmSync(results, { recursive: true, force: true });
  for (const name of names) mkdirSync(join(results, name), { recursive: true });
  if (only.includes('recorded')) {
    // One after the other: their tests have timeouts.
    for (const name of names)
      log(`${name}: ${await recordReplays(checkouts[name], join(results, name))} recorded`);
  }
  const folder = mkdtempSync(join(tmpdir(), 'compare-answers-'));
  // As root, PostgreSQL runs as another user.
  chmodSync(folder, 0o755);
  try {
    const settings = { PRIVATE_ADDRESSES: 'on' };
    const builds = {
      other: { build: buildIn(checkouts.other), settings },
      present: { build: buildIn(checkouts.present), settings },
    };
    await withServices('embedded', folder, builds, (services) =>
      Promise.all(
        names.map((name) =>
          new Comparison(name, services[name], checkouts[name], join(folder, `files of ${name}`)).tryAll(
            files,
            only,
          ),
        ),
      ),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  const { status } = spawnSync(
    'git',
    ['--no-pager', 'diff', '--no-index', '--stat', '--patch', '-U1', ...names],
    {
      cwd: results,
      stdio: 'inherit',
    },
  );
  log(status === 0 ? 'no difference' : `DIFFERENT: see ${results}`);
  process.exitCode = status ?? 1;
}

/** Sends all requests to one of the services. */
class Comparison {
  private answers = 0;

  constructor(
    private readonly name: Name,
    private readonly service: Service,
    private readonly checkout: string,
    private readonly folder: string,
  ) {}

  async tryAll(files: readonly FileToTry[], only: readonly string[]): Promise<void> {
    if (only.includes('feeds')) {
      await this.tryEach('feeds', files, 2, tryFile);
      await this.write('forms', (client) => tryForms(client));
    }
    if (only.includes('sources')) {
      const server = await serveFiles(madeUpFiles);
      await this.tryEach('sources', madeUpFiles, 8, (client, file) =>
        fetchFile(
          client,
          file.what,
          `${server.url}/${madeUpFiles.indexOf(file)}/${encodeURIComponent(file.name)}`,
        ),
      );
      server.close();
    }
    if (only.includes('cli')) {
      const tried = files.filter(({ what }) => ofCommandLine.test(what));
      await this.tryEach('cli', tried, 1, (client, file, transcript) => {
        const folder = join(this.folder, String(files.indexOf(file)));
        mkdirSync(folder, { recursive: true });
        const command = new CommandLine(this.checkout, client.url, folder, transcript);
        return command.tryFile(file);
      });
      await this.write('cli/listings', (client, transcript) =>
        new CommandLine(this.checkout, client.url, this.folder, transcript).tryListings(),
      );
    }
    log(`${this.name}: ${this.answers} answers`);
  }

  /** Sends several files concurrently: each has a transcript and partners of its own. */
  private async tryEach(
    part: string,
    files: readonly FileToTry[],
    atOnce: number,
    work: (client: Client, file: FileToTry, transcript: Transcript) => Promise<void>,
  ): Promise<void> {
    const queue = [...files.entries()];
    const tryNext = async () => {
      for (let next = queue.shift(); next; next = queue.shift()) {
        const [at, file] = next;
        const name = `${part}/${String(at).padStart(3, '0')} ${file.what.replace(/[^\w.-]+/g, ' ')}`;
        await this.write(name, (client, transcript) => work(client, file, transcript));
      }
    };
    await Promise.all(Array.from({ length: atOnce }, tryNext));
    log(`${this.name}: ${part} of ${files.length} files`);
  }

  private async write(
    name: string,
    work: (client: Client, transcript: Transcript) => Promise<void>,
  ): Promise<void> {
    const transcript = new Transcript([[this.folder, '<folder>']]);
    try {
      await work(new Client(this.service.url, transcript), transcript);
    } catch (error) {
      throw new Error(`${this.name}: ${name}`, { cause: error });
    }
    transcript.write(join(results, this.name, `${name}.txt`));
    this.answers += transcript.answers;
  }
}

async function tryForms(client: Client): Promise<void> {
  for (const form of forms)
    for (const path of ['/feeds/inspect', '/feeds/upload']) await client.sendForm(path, form);
}

function feedsBelow(folder: string): FileToTry[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(csv|tsv|txt|gz)$/i.test(path))
    .toSorted()
    .map((path) => ({ what: path, name: basename(path), bytes: readFileSync(join(folder, path)) }));
}

function log(line: string): void {
  process.stderr.write(`${line}\n`);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 2;
});
