import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { formerSettings, removedSettings, settingGroups } from '../../src/base/setting-groups';
import type { Setting } from '../../src/base/settings';
import { bytes, code, count, page, table } from './markdown';

const docs = join(__dirname, '..', '..', 'docs');
const groups = Object.entries(settingGroups).map(
  ([title, group]) => [title, Object.entries<Setting>(group)] as const,
);

export function settingsPage(): string {
  const tables = groups.flatMap(([title, settings]) => [
    `## ${title}`,
    table(
      ['Setting', 'Value', 'Default', 'Description'],
      settings.map(([name, setting]) => [
        code(name),
        describeValue(name, setting),
        setting.default === undefined ? setting.unset! : code(setting.default),
        `${setting.description}${linkTo(setting)}`,
      ]),
    ),
  ]);
  return page(
    'Settings',
    'src/base/setting-groups.ts',
    'Settings are environment variables. An empty variable counts as unset. A wrong setting stops the start with one line that' +
      ' names it: `Wrong setting PORT: it must be <= 65535, and is "70000".`',
    'A limit "per process" applies to each process on its own.',
    ...tables,
    '## Former settings',
    'A start logs one warning with the former settings that are set. A removed setting stops the start.',
    table(
      ['Setting', 'Instead'],
      [
        ...Object.entries(removedSettings).map(([name, instead]) => [name, `Removed: ${instead}.`]),
        ...Object.entries(formerSettings),
      ].map(([name, instead]) => [code(name!), instead!]),
    ),
  );
}

/** Descriptions of formats. */
const forms: Record<string, string> = {
  currency: 'ISO 4217 code',
  'http-url': 'URL',
  'postgres-url': 'PostgreSQL address',
  'proxy-url': 'URL',
  'secrets-keys': '32 bytes in Base64, or a list',
};

function describeValue(name: string, setting: Setting): string {
  const { type, enum: choices, minimum, maximum, requires, format } = setting;
  const shown = name.endsWith('_BYTES') ? bytes : (value: number) => numberOf(name, value);
  const form = choices
    ? choices.map(code).join(', ')
    : minimum !== undefined && maximum !== undefined
      ? `${shown(minimum)} to ${shown(maximum)}`
      : type === 'boolean'
        ? '`true`, `false`'
        : (forms[format ?? ''] ?? 'text');
  return requires ? `${form}; needs ${code(requires)}` : form;
}

/** Formats a default. Ports have no thousands separators. */
const numberOf = (name: string, value: number) => (name.endsWith('PORT') ? String(value) : count(value));

/** Links a page, or one of its sections, by its title. */
function linkTo({ page: target }: Setting): string {
  if (!target) return '';
  const [path, anchor] = target.split('#') as [string, string?];
  const headings = readFileSync(join(docs, path), 'utf8').matchAll(/^#+ (.+)$/gm);
  const titles = Array.from(headings, ([, title]) => title!);
  const title = anchor === undefined ? titles[0] : titles.find((each) => anchorOf(each) === anchor);
  if (title === undefined) throw new Error(`docs/${target} does not exist`);
  return ` See [${plain(title)}](../${target}).`;
}

const anchorOf = (title: string) =>
  title
    .toLowerCase()
    .replaceAll(/[^a-z0-9 -]/g, '')
    .replaceAll(' ', '-');

/** Makes `.env.example`: the required settings of compose.yaml, and all others as comments. */
export function envExample(): string {
  const lines = groups.flatMap(([title, settings]) => [
    '',
    `# ----- ${title} -----`,
    ...settings.flatMap(([name, { description, default: value, unset }]) => [
      '',
      `# ${plain(description)}`,
      ...(unset === undefined ? [] : [`# Without it: ${plain(unset)}.`]),
      `# ${name}=${value ?? ''}`,
    ]),
  ]);
  return `# Generated from src/base/setting-groups.ts by \`make generate\`; edit that instead.

# compose.yaml asks for these four. docs/how-to/deploy.md has the command that makes a .env with random values.
# This one becomes part of an address: letters and digits only.
POSTGRES_PASSWORD=
S3_SECRET_KEY=
API_KEYS=
# 32 bytes in Base64.
SECRETS_KEY=

# All settings of the service. compose.yaml sets what it needs. For another process:
#   set -a; . ./.env; set +a; make run
${lines.join('\n')}
`;
}

const plain = (text: string) => text.replaceAll('`', '');
