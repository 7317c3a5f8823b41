import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterFile } from './after-file';

/** A folder that is gone after the file. Other accounts may enter it. */
export function createTestFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'catalog-test-'));
  chmodSync(folder, 0o755);
  afterFile(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
