import { loadConfig, settingNames, type Config } from '../../../src/config';

/** Variables of the AWS SDK, Node, and the memory allocator. */
const others = [
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_REGION',
  'NODE_ENV',
  'MALLOC_MMAP_THRESHOLD_',
  'MALLOC_ARENA_MAX',
];

/** Parses the environment of a process as the service does. @throws ConfigError for a wrong value */
export function configOf(environment: Record<string, string>): Config {
  const unknown = Object.keys(environment).filter((name) => !settingNames.includes(name));
  expect(unknown.filter((name) => !others.includes(name))).toEqual([]);
  return loadConfig(environment);
}
