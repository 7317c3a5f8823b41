import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterFile } from './after-file';

const run = promisify(execFile);

/**
 * Makes the disk below a folder small, after which writing to it fails for real. With the right to mount, it is a small
 * file system of its own, which is full when its files together reach the size (ENOSPC); else no file that this process
 * writes may reach the size (EFBIG). It is undone after the file.
 * @returns undoes it, what was written there included
 */
export async function limitDisk(folder: string, bytes: number): Promise<() => Promise<void>> {
  let undo = async () => {
    await run('umount', ['--lazy', folder]);
  };
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${bytes},mode=0700`, 'tmpfs', folder]);
  } catch {
    const limit = (value: string) => run('prlimit', ['--pid', String(process.pid), `--fsize=${value}`]);
    // The soft limit alone: without the right to mount there is none to raise a hard one either.
    await limit(`${bytes}:`);
    undo = async () => {
      await limit('unlimited:');
    };
  }
  let isUndone = false;
  const once = async () => {
    if (isUndone) return;
    isUndone = true;
    await undo();
  };
  afterFile(once);
  return once;
}
