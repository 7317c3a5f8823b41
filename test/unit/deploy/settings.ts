import { loadConfig, settingNames, type Config } from '../../../src/config';

/** What the AWS SDK reads for itself, Node, and its memory allocator. */
const others = [
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_REGION',
  'NODE_ENV',
  'MALLOC_MMAP_THRESHOLD_',
];

/**
 * Checks that the service understands the whole environment of a process of it.
 * @throws ConfigError when a value is wrong
 */
export function configOf(environment: Record<string, string>): Config {
  const unknown = Object.keys(environment).filter((name) => !settingNames.includes(name));
  expect(unknown.filter((name) => !others.includes(name))).toEqual([]);
  return loadConfig(environment);
}
