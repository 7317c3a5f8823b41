import fc from 'fast-check';
import type { OpenAPIV3 } from 'openapi-types';
import document from '../../generated/openapi.json';

export type Schema = OpenAPIV3.SchemaObject;
type Node = Schema | OpenAPIV3.ReferenceObject;

/** What a reference in the document stands for. */
export function resolve<T extends object>(node: T | OpenAPIV3.ReferenceObject): T {
  if (!('$ref' in node)) return node;
  const target = node.$ref
    .slice(2)
    .split('/')
    .reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], document);
  return resolve(target as T | OpenAPIV3.ReferenceObject);
}

/** Values that fit a schema of the document. */
export function fitting(node: Node): fc.Arbitrary<unknown> {
  const schema = resolve(node);
  const value = fittingType(schema);
  return schema.nullable ? fc.option(value) : value;
}

function fittingType(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.enum) return fc.constantFrom(...(schema.enum as unknown[]).filter((value) => value !== null));
  switch (schema.type) {
    case 'string':
      return fittingText(schema);
    case 'integer':
      return fc.integer({ min: schema.minimum ?? -1_000_000, max: schema.maximum ?? 1_000_000 });
    case 'array':
      return fc.array(fitting(schema.items), { minLength: schema.minItems ?? 0, maxLength: 3 });
    case 'object': {
      const required = schema.required ?? [];
      const properties = Object.entries(schema.properties ?? {});
      return fc.record(Object.fromEntries(properties.map(([name, each]) => [name, fitting(each)])), {
        requiredKeys: required,
      });
    }
    default:
      throw new Error(`There is no arbitrary for the type ${schema.type}.`);
  }
}

function fittingText({ pattern, minLength = 0, maxLength = 60 }: Schema): fc.Arbitrary<string> {
  const text = pattern
    ? fc.stringMatching(new RegExp(pattern, 'u'))
    : fc.string({ unit: 'binary', minLength, maxLength: Math.min(maxLength, 60) });
  // White space around a text may be trimmed away before it is measured.
  return text.filter((each) => [...each.trim()].length >= minLength && [...each].length <= maxLength);
}

/** Values that do not fit a schema, each for one reason: another type, or a limit that is not kept. */
export function unfitting(node: Node): fc.Arbitrary<unknown> {
  const schema = resolve(node);
  const others = [fc.boolean(), fc.double({ noInteger: true, noNaN: true, noDefaultInfinity: true })];
  const wrongType: fc.Arbitrary<unknown>[] = [...others, ...(schema.nullable ? [] : [fc.constant(null)])];
  if (schema.type !== 'string') wrongType.push(fc.string());
  if (schema.type !== 'array') wrongType.push(fc.array(fc.integer(), { maxLength: 2 }));
  if (schema.type !== 'object') wrongType.push(fc.dictionary(fc.string(), fc.integer(), { maxKeys: 2 }));
  return fc.oneof(...wrongType, ...beyondLimits(schema), ...brokenParts(schema));
}

/** Values of the right type that a limit refuses. */
export function beyondLimits(schema: Schema): fc.Arbitrary<unknown>[] {
  const beyond: fc.Arbitrary<unknown>[] = [];
  if (schema.type === 'integer') {
    if (schema.minimum !== undefined) beyond.push(fc.integer({ max: schema.minimum - 1 }));
    if (schema.maximum !== undefined) beyond.push(fc.integer({ min: schema.maximum + 1 }));
  }
  if (schema.type === 'string') {
    const { enum: allowed, pattern, minLength = 0, maxLength } = schema;
    if (allowed) beyond.push(fc.string({ minLength: 1 }).filter((text) => !allowed.includes(text)));
    if (pattern) {
      const grammar = new RegExp(pattern, 'u');
      beyond.push(
        fc
          .string({ unit: fc.integer({ max: 0x7f }).map(String.fromCharCode), minLength: 1 })
          .filter((text) => !grammar.test(text.trim())),
      );
    }
    if (minLength > 0) beyond.push(fc.constantFrom('', ' ', '\t\n'));
    if (maxLength !== undefined) beyond.push(fc.constant('x'.repeat(maxLength + 1)));
  }
  return beyond;
}

/** Objects and arrays of which one part is wrong. */
function brokenParts(schema: Schema): fc.Arbitrary<unknown>[] {
  if (schema.type === 'array') {
    return [
      fc
        .tuple(fc.array(fitting(schema.items), { maxLength: 2 }), unfitting(schema.items))
        .map(([some, wrong]) => [...some, wrong]),
    ];
  }
  if (schema.type !== 'object') return [];
  const whole = fitting(schema) as fc.Arbitrary<Record<string, unknown>>;
  const broken = Object.entries(schema.properties ?? {}).map(([name, each]) =>
    fc.tuple(whole, unfitting(each)).map(([object, wrong]) => ({ ...object, [name]: wrong })),
  );
  const incomplete = (schema.required ?? []).map((name) =>
    whole.map((object) => Object.fromEntries(Object.entries(object).filter(([key]) => key !== name))),
  );
  return [...broken, ...incomplete];
}
