import { rmSync } from 'node:fs';
import type { Global } from './global-setup';

export default async function tearDown(): Promise<void> {
  const { folder, postgres, s3 } = (globalThis as unknown as { catalogTest: Global }).catalogTest;
  await s3.stop();
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}
