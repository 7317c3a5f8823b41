import type { ErrorObject } from 'ajv';
import { invalidShape, ServiceError, type ShapeError } from './errors';

/** A request as it was sent, for checks, rules and errors. */
export interface SentValues {
  path: Record<string, string>;
  query: Record<string, unknown>;
  /** The declared headers, by their names in the document. */
  headers: Record<string, string | undefined>;
  body: object | undefined;
}

/**
 * Converts the validator's errors to the form of the specification (section 7, `grain`), with the values as sent.
 * @returns one entry per value, for the first violated rule, and one per missing value
 */
export function toShapeErrors(errors: readonly ErrorObject[], sent: SentValues): ShapeError[] {
  return onePerPlace(toEntries(errors, { ...sent, header: sent.headers }));
}

/** Keeps the first error of each value. */
export function onePerPlace(errors: readonly ShapeError[]): ShapeError[] {
  const byPlace = new Map<string, ShapeError>();
  for (const error of errors) {
    const place = JSON.stringify(error.loc);
    if (!byPlace.has(place)) byPlace.set(place, error);
  }
  return [...byPlace.values()];
}

/** Adds a JSON pointer to each error of the body. @returns other values as they are */
export function withPointers(error: unknown): unknown {
  if (!(error instanceof ServiceError) || !error.data.shapeErrors) return error;
  return invalidShape(
    error.data.shapeErrors.map(({ type, loc, ...rest }) =>
      loc[0] === 'body' ? { type, loc, pointer: jsonPointer(loc.slice(1)), ...rest } : { type, loc, ...rest },
    ),
  );
}

/** Replaces the input of each error of the body by null. @returns other values as they are */
export function withoutInput(error: unknown): unknown {
  if (!(error instanceof ServiceError) || !error.data.shapeErrors) return error;
  return invalidShape(
    error.data.shapeErrors.map((entry) => (entry.loc[0] === 'body' ? { ...entry, input: null } : entry)),
  );
}

/** Writes a location within a body by RFC 6901. */
function jsonPointer(steps: (string | number)[]): string {
  return steps.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** The request by the first element of a location. */
type Places = SentValues & { header: SentValues['headers'] };

function toEntries(errors: readonly ErrorObject[], sent: Places): ShapeError[] {
  return errors.map((error) => {
    const loc = location(error.instancePath, sent);
    if (error.keyword === 'required') {
      const missing = error.params.missingProperty as string;
      const isBody = loc.length === 0 && missing === 'requestBody';
      return {
        type: 'missing',
        loc: isBody ? ['body'] : [...loc, missing],
        msg: 'Field required',
        input: isBody ? null : valueAt(loc, sent),
      };
    }
    if (error.keyword === 'additionalProperties') {
      const unknown = [...loc, error.params.additionalProperty as string];
      const msg = 'Extra inputs are not permitted';
      return { type: 'extra_forbidden', loc: unknown, msg, input: valueAt(unknown, sent) };
    }
    // A list that is too long is not returned.
    const input = ['maxItems', 'maxProperties'].includes(error.keyword) ? null : valueAt(loc, sent);
    return { ...describe(error, loc, valueAt(loc, sent)), loc, input };
  });
}

/** Converts `/requestBody/items/0/quantity` to `body, items, 0, quantity`, with numbers for positions. */
function location(instancePath: string, sent: Places): (string | number)[] {
  const loc: (string | number)[] = [];
  for (const segment of instancePath.split('/').slice(1)) {
    const name = segment.replaceAll('~1', '/').replaceAll('~0', '~');
    if (loc.length === 0) loc.push(name === 'requestBody' ? 'body' : name);
    else if (loc.length === 1 && loc[0] === 'header') loc.push(headerName(name, sent));
    else loc.push(Array.isArray(valueAt(loc, sent)) ? Number(name) : name);
  }
  return loc;
}

/** Finds the declared name: the validator has lower case. */
function headerName(name: string, { header }: Places): string {
  return Object.keys(header).find((declared) => declared.toLowerCase() === name) ?? name;
}

function valueAt(loc: (string | number)[], sent: Places): unknown {
  let value: unknown = sent;
  for (const segment of loc) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, segment)) return null;
    value = (value as Record<string | number, unknown>)[segment];
  }
  return value;
}

const plural = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`;

interface KeywordParams {
  format: string;
  type: string;
  limit: number;
  pattern: string;
  allowedValues: unknown[];
}

function describe(
  error: ErrorObject,
  loc: (string | number)[],
  input: unknown,
): Pick<ShapeError, 'type' | 'msg' | 'ctx'> {
  const keyword = error.keyword;
  const params = error.params as KeywordParams;
  switch (keyword) {
    case 'type':
      return wrongType(params.type.split(',')[0]!, loc[0] !== 'body', input);
    case 'minimum':
      return {
        type: 'greater_than_equal',
        msg: `Input should be greater than or equal to ${params.limit}`,
        ctx: { ge: params.limit },
      };
    case 'maximum':
      return {
        type: 'less_than_equal',
        msg: `Input should be less than or equal to ${params.limit}`,
        ctx: { le: params.limit },
      };
    case 'minLength':
      return {
        type: 'string_too_short',
        msg: `String should have at least ${plural(params.limit, 'character')}`,
        ctx: { min_length: params.limit },
      };
    case 'maxLength':
      return {
        type: 'string_too_long',
        msg: `String should have at most ${plural(params.limit, 'character')}`,
        ctx: { max_length: params.limit },
      };
    case 'minItems':
      return {
        type: 'too_short',
        msg: `List should have at least ${plural(params.limit, 'item')}`,
        ctx: { min_length: params.limit },
      };
    case 'maxItems':
      return {
        type: 'too_long',
        msg: `List should have at most ${plural(params.limit, 'item')}`,
        ctx: { max_length: params.limit },
      };
    case 'maxProperties':
      return {
        type: 'too_long',
        msg: `Object should have at most ${plural(params.limit, 'member')}`,
        ctx: { max_length: params.limit },
      };
    case 'pattern':
      return {
        type: 'string_pattern_mismatch',
        msg: `String should match pattern '${params.pattern}'`,
        ctx: { pattern: params.pattern },
      };
    case 'format':
      // Requests have no other formats.
      return params.format === 'date'
        ? { type: 'date_parsing', msg: 'Input should be a valid date in the format YYYY-MM-DD' }
        : { type: 'datetime_parsing', msg: 'Input should be a valid date-time' };
    case 'enum': {
      const expected = alternatives(params.allowedValues);
      return { type: 'enum', msg: `Input should be ${expected}`, ctx: { expected } };
    }
    default:
      return { type: keyword, msg: `Input ${error.message}` };
  }
}

function wrongType(type: string, isText: boolean, input: unknown): Pick<ShapeError, 'type' | 'msg'> {
  switch (type) {
    case 'number':
      return typeof input === 'string'
        ? {
            type: 'float_parsing',
            msg: 'Input should be a valid number, unable to parse string as a number',
          }
        : { type: 'float_type', msg: 'Input should be a valid number' };
    case 'integer':
      return isText
        ? {
            type: 'int_parsing',
            msg: 'Input should be a valid integer, unable to parse string as an integer',
          }
        : { type: 'int_type', msg: 'Input should be a valid integer' };
    case 'boolean':
      return { type: 'bool_parsing', msg: 'Input should be a valid boolean, unable to interpret input' };
    case 'string':
      return { type: 'string_type', msg: 'Input should be a valid string' };
    case 'array':
      return { type: 'list_type', msg: 'Input should be a valid list' };
    default:
      return { type: 'dict_type', msg: 'Input should be a valid object' };
  }
}

/** Writes `'a'`, `'a' or 'b'`, `'a', 'b' or 'c'`. */
function alternatives(values: unknown[]): string {
  const quoted = values.map((value) => `'${String(value)}'`);
  const last = quoted.pop()!;
  return quoted.length > 0 ? `${quoted.join(', ')} or ${last}` : last;
}
