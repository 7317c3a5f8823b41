import Ajv, { type ErrorObject, type Format } from 'ajv';

/** A setting: the JSON schema of its value, and its documentation. */
export interface Setting {
  type?: 'string' | 'integer' | 'boolean';
  enum?: readonly string[];
  format?: string;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  default?: string | number;
  /** The effect without a value, where there is no default. */
  unset?: string;
  description: string;
  /** The setting that must be set too. */
  requires?: string;
  /** The message for a value of the wrong format or pattern. */
  expected?: string;
  /** The page below docs/ with more about it. */
  page?: string;
}

export type Settings = Readonly<Record<string, Setting>>;

type ValueOf<S> = S extends { type: 'integer' }
  ? number
  : S extends { type: 'boolean' }
    ? boolean
    : S extends { enum: readonly (infer Choice)[] }
      ? Choice
      : string;

/** The values of the settings of a table; one without a default may be undefined. */
export type SettingValues<Table extends Settings> = {
  [Name in keyof Table]:
    ValueOf<Table[Name]> | (Table[Name] extends { default: unknown } ? never : undefined);
};

/** Wrong settings. The message has one line for each, with its name. */
export class ConfigError extends Error {}

interface ErrorParams {
  property: string;
  missingProperty: string;
  allowedValues: string[];
}

/**
 * Makes a reader of settings from environment variables; an empty variable counts as unset.
 * @param removed - settings that are wrong with any value, by name, with what to do instead
 * @param formats - checks of the formats in the table
 * @returns the reader, which throws a ConfigError with every wrong setting
 */
export function settingsReader<Table extends Settings>(
  table: Table,
  removed: Readonly<Record<string, string>>,
  formats: Record<string, Format>,
): (env: NodeJS.ProcessEnv) => SettingValues<Table> {
  const settings = Object.entries(table);
  const defaults = Object.fromEntries(settings.map(([name, setting]) => [name, setting.default]));
  const dependencies = Object.fromEntries(
    settings.flatMap(([name, { requires }]) => (requires ? [[name, [requires]]] : [])),
  ) as Record<string, string[]>;
  // Not strict: the schemas have members for the documentation.
  const ajv = new Ajv({ allErrors: true, coerceTypes: true, strict: false, formats });
  const isValid = ajv.compile<Partial<SettingValues<Table>>>({
    type: 'object',
    properties: table,
    dependencies,
  });

  return (env) => {
    const given: Record<string, string> = {};
    for (const [name] of settings) {
      const value = env[name]?.trim();
      if (value) given[name] = value;
    }
    const lines = Object.entries(removed)
      .filter(([name]) => env[name]?.trim())
      .map(([name, instead]) => `Wrong setting ${name}: it has been removed; ${instead}.`);
    const coerced = structuredClone(given);
    if (!isValid(coerced)) {
      const errors = isValid.errors as ErrorObject<string, ErrorParams>[];
      lines.push(...errors.map((error) => describeError(error, table, given)));
    }
    if (lines.length > 0) throw new ConfigError([...new Set(lines)].join('\n'));
    return { ...defaults, ...coerced } as SettingValues<Table>;
  };
}

function describeError(
  error: ErrorObject<string, ErrorParams>,
  table: Settings,
  given: Record<string, string>,
): string {
  const name = error.instancePath.slice(1);
  switch (error.keyword) {
    case 'dependencies':
      return `Wrong setting ${error.params.missingProperty}: it must be set when ${error.params.property} is set.`;
    case 'enum':
      return `Wrong setting ${name}: it must be one of ${error.params.allowedValues.join(', ')}.`;
    case 'pattern':
    case 'format':
      return `Wrong setting ${name}: ${table[name]?.expected}.`;
    default:
      return `Wrong setting ${name}: it ${error.message}, and is ${JSON.stringify(given[name])}.`;
  }
}
