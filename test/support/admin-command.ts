import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { project } from './project';

const entry = join(project, 'dist/src/admin/main.js');

/** Runs the command `npm run admin` as it was built, with these settings alone. */
export function runAdmin(
  env: Record<string, string>,
  ...args: string[]
): Promise<{ code: unknown; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    const options = { env: { PATH: process.env.PATH, ...env } };
    execFile(process.execPath, [entry, ...args], options, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, stdout, stderr }),
    );
  });
}
