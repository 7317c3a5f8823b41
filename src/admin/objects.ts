import type { Command } from 'commander';
import { cleanObjects } from '../feeds/clean-objects';
import { openObjectStore } from '../storage/open-store';
import { withDatabase, type AdminContext } from './context';

/** An object that no row names is removed when it is older: an upload has its object before its row. */
const orphanObjectMilliseconds = 24 * 3600 * 1000;

/** Adds the group of commands that manage the object store. */
export function addObjects(program: Command): void {
  const objects = program.command('objects').description('clean up the object store');
  objects
    .command('clean')
    .description('remove stored files that no feed names, and abort multipart uploads that have stalled')
    .option('--dry-run', 'only show what would be removed')
    .action(({ dryRun = false }: { dryRun?: boolean }) => withDatabase((context) => clean(context, dryRun)));
}

async function clean({ db, config }: AdminContext, dryRun: boolean): Promise<void> {
  const print = (line: string) => process.stdout.write(`${line}\n`);
  const objectStore = await openObjectStore(config);
  try {
    const { seen, removed, young, foreign, unfinishedRemoved } = await cleanObjects(db, objectStore, {
      dryRun,
      before: new Date(Date.now() - orphanObjectMilliseconds),
      report: (line) => print(`${dryRun ? 'would remove' : 'removing'} ${line}`),
    });
    const hours = orphanObjectMilliseconds / 3_600_000;
    print(
      `Objects: ${seen}. No feed names ${removed + young} of them; ${dryRun ? 'to be removed' : 'removed'}: ${removed}; ` +
        `left, because younger than ${hours} hours: ${young}. ` +
        `Unfinished uploads ${dryRun ? 'to be removed' : 'removed'}: ${unfinishedRemoved}.`,
    );
    if (foreign > 0) print(`Left alone, because not of this database: ${foreign} objects.`);
  } finally {
    objectStore.close();
  }
}
