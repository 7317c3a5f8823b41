import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { apiKey } from '../bench/servers';
import type { FileToTry } from './made-up-files';
import type { Transcript } from './transcript';

/** The command line of a build. */
export class CommandLine {
  /** @param folder - the working directory, which contains the files */
  constructor(
    private readonly checkout: string,
    private readonly url: string,
    private readonly folder: string,
    private readonly transcript: Transcript,
  ) {}

  /** Runs a command, and records its output. @returns its standard output */
  run(...args: string[]): Promise<string> {
    const entry = join(this.checkout, this.commandFile());
    const env = { PATH: process.env.PATH, CATALOG_URL: this.url, CATALOG_API_KEY: apiKey };
    return new Promise((resolve) => {
      const options = { env, cwd: this.folder, encoding: 'latin1' as const, maxBuffer: Infinity };
      const child = execFile(process.execPath, [entry, ...args], options, (error, stdout, stderr) => {
        const code = String(error?.code ?? 0);
        this.transcript.addText(`partner-feed ${args.join(' ')}`, [
          `exit code ${code}`,
          stdout,
          // The progress of a run depends on the time of the request.
          stderr.replace(/^(waiting|running).*\n/gm, ''),
        ]);
        resolve(stdout);
      });
      child.stdin!.end();
    });
  }

  /** Path of the built command in the checkout; it differs between releases. */
  private commandFile(): string {
    const manifest = JSON.parse(readFileSync(join(this.checkout, 'package.json'), 'utf8')) as {
      bin: Record<string, string>;
    };
    return manifest.bin['partner-feed']!;
  }

  /** Runs all commands of a partner on a file. */
  async tryFile({ what, name, bytes }: FileToTry): Promise<void> {
    writeFileSync(join(this.folder, name), bytes);
    for (const format of [[], ['--format', 'standard'], ['--format', 'saved']])
      await this.tryFormat(name, `${what} by command`, format);
  }

  private async tryFormat(name: string, partner: string, format: string[]): Promise<void> {
    const options = ['--partner', partner, ...format];
    await this.run('inspect', name, ...options);
    await this.run('inspect', name, ...options, '--json', '--save', 'saved', '--answer', 'price=1');
    await this.run('upload', name, ...options, '--strict');
    const uploaded = await this.run('upload', name, ...options, '--no-run', '--json');
    const mended = `mended ${format.join(' ')}.csv`;
    const mending = [
      '--trim',
      '--decimal-comma',
      'price',
      '--set',
      'currency=EUR',
      '--replace',
      'price:NA=1',
    ];
    await this.run('mend', name, ...mending);
    const jobId = /JV\d+/.exec(uploaded)?.[0];
    if (jobId === undefined) return;
    for (const command of ['plan', 'run', 'follow', 'issues']) await this.run(command, jobId);
    await this.run('changes', jobId, '--run', '1');
    const rejects = await this.run('rejects', jobId);
    writeFileSync(join(this.folder, 'rejects.csv'), rejects, 'latin1');
    await this.run('mend', 'rejects.csv', ...mending, '--output', mended, '--encoding', 'latin1');
    await this.run('upload-mended', jobId, 'rejects.csv');
    await this.run('upload-mended', jobId, mended);
    await this.run('products', '--partner', partner);
  }

  /** Runs the commands that need no file. */
  async tryListings(): Promise<void> {
    for (const command of ['--help', 'feeds', 'partners', 'orders', 'formats list', 'formats show shopify'])
      await this.run(...command.split(' '));
    await this.run('inspect', 'missing.csv', '--partner', 'None');
    await this.run('plan', 'JV99999');
  }
}
