import fc from 'fast-check';
import type { OpenAPIV3 } from 'openapi-types';
import type { Document } from 'openapi-backend';
import json from '../../generated/openapi.json';
import { withStrictTimes } from '../../src/http/contract/operations';
import { stringify } from 'csv-stringify/sync';

const document = withStrictTimes(json as unknown as Document);

export type Schema = OpenAPIV3.SchemaObject;
type Node = Schema | OpenAPIV3.ReferenceObject;

export function resolve<T extends object>(node: T | OpenAPIV3.ReferenceObject): T {
  if (!('$ref' in node)) return node;
  const target = node.$ref
    .slice(2)
    .split('/')
    .reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], document);
  return resolve(target as T | OpenAPIV3.ReferenceObject);
}

/** Generates values that fit a schema of the document. */
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
    case 'number':
      return fc.double({ min: schema.minimum ?? -1e6, max: schema.maximum ?? 1e6, noNaN: true });
    case 'boolean':
      return fc.boolean();
    case 'array':
      return (schema.uniqueItems ? fc.uniqueArray : fc.array)(fitting(schema.items), {
        minLength: schema.minItems ?? 0,
        maxLength: 3,
      });
    case 'object': {
      if (typeof schema.additionalProperties === 'object')
        return fc.dictionary(
          fc.string({ unit: 'binary', maxLength: 9 }),
          fitting(schema.additionalProperties),
          {
            maxKeys: 3,
          },
        );
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

function fittingText({ format, pattern, minLength = 0, maxLength = 60 }: Schema): fc.Arbitrary<string> {
  if (format === 'date-time') {
    const [min, max] = [new Date('0000-01-01T00:00:00Z'), new Date('9999-12-31T23:59:59Z')];
    return fc.date({ min, max, noInvalidDate: true }).map((time) => time.toISOString());
  }
  const text = pattern
    ? fc.stringMatching(new RegExp(pattern, 'u'))
    : fc.oneof(
        {
          weight: 9,
          arbitrary: fc.string({ unit: 'binary', minLength, maxLength: Math.min(maxLength, 60) }),
        },
        { weight: 1, arbitrary: fc.constantFrom('a\0', '__proto__', '\u0085') },
      );
  // White space around a text may be trimmed before its length is checked.
  return text.filter((each) => [...each.trim()].length >= minLength && [...each].length <= maxLength);
}

/** Generates values that do not fit a schema, each for one reason: another type, or an exceeded limit. */
export function unfitting(node: Node): fc.Arbitrary<unknown> {
  const schema = resolve(node);
  const wrongType: fc.Arbitrary<unknown>[] = schema.nullable ? [] : [fc.constant(null)];
  if (schema.type !== 'boolean') wrongType.push(fc.boolean());
  if (schema.type !== 'number')
    wrongType.push(fc.double({ noInteger: true, noNaN: true, noDefaultInfinity: true }));
  if (schema.type !== 'string') wrongType.push(fc.string());
  if (schema.type !== 'array') wrongType.push(fc.array(fc.integer(), { maxLength: 2 }));
  if (schema.type !== 'object') wrongType.push(fc.dictionary(fc.string(), fc.integer(), { maxKeys: 2 }));
  return fc.oneof(...wrongType, ...beyondLimits(schema), ...brokenParts(schema));
}

/** Values of the right type that a limit rejects. */
export function beyondLimits(schema: Schema): fc.Arbitrary<unknown>[] {
  const beyond: fc.Arbitrary<unknown>[] = [];
  if (schema.type === 'integer') {
    if (schema.minimum !== undefined) beyond.push(fc.integer({ max: schema.minimum - 1 }));
    if (schema.maximum !== undefined) beyond.push(fc.integer({ min: schema.maximum + 1 }));
  }
  if (schema.type === 'number') {
    const { minimum, maximum } = schema;
    if (minimum !== undefined)
      beyond.push(fc.double({ max: minimum, maxExcluded: true, noDefaultInfinity: true }));
    if (maximum !== undefined)
      beyond.push(fc.double({ min: maximum, minExcluded: true, noDefaultInfinity: true }));
  }
  if (schema.type === 'string') {
    const { enum: allowed, pattern, minLength = 0, maxLength } = schema;
    if (allowed) beyond.push(fc.string({ minLength: 1 }).filter((text) => !allowed.includes(text)));
    if (pattern) {
      const grammar = new RegExp(pattern, 'u');
      beyond.push(
        fc
          .string({
            unit: fc.integer({ min: 0, max: 0x7f }).map((code) => String.fromCharCode(code)),
            minLength: 1,
          })
          .filter((text) => !grammar.test(text) && !grammar.test(text.trim())),
      );
    }
    if (minLength > 0)
      beyond.push(fc.constantFrom('', ...[' ', '\t\n'].filter((blank) => refuses(pattern, blank))));
    if (maxLength !== undefined) beyond.push(fc.constant('x'.repeat(maxLength + 1)));
  }
  return beyond;
}

/** Whether an optional pattern rejects a text. */
function refuses(pattern: string | undefined, text: string): boolean {
  return pattern !== undefined && !new RegExp(pattern, 'u').test(text);
}

/** Objects and arrays with one invalid part. */
function brokenParts(schema: Schema): fc.Arbitrary<unknown>[] {
  if (schema.type === 'array') {
    const { items, minItems = 0, maxItems } = schema;
    return [
      fc
        .tuple(fc.array(fitting(items), { maxLength: 2 }), unfitting(items))
        .map(([some, wrong]) => [...some, wrong]),
      ...(minItems > 0 ? [fc.constant([])] : []),
      ...(maxItems === undefined ? [] : [fitting(items).map((item) => Array(maxItems + 1).fill(item))]),
    ];
  }
  if (schema.type !== 'object') return [];
  const whole = fitting({ ...schema, nullable: false }) as fc.Arbitrary<Record<string, unknown>>;
  const { additionalProperties, maxProperties = Infinity } = schema;
  if (typeof additionalProperties === 'object') {
    const name = fc.stringMatching(/^[a-z]{1,9}$/);
    const tooMany = fitting(additionalProperties).map((value) =>
      Object.fromEntries(Array.from({ length: maxProperties + 1 }, (_, at) => [`a${at}`, value])),
    );
    return [
      fc
        .tuple(whole, name, unfitting(additionalProperties))
        .map(([object, key, wrong]) => ({ ...object, [key]: wrong })),
      ...(maxProperties === Infinity ? [] : [tooMany]),
    ];
  }
  const broken = Object.entries(schema.properties ?? {}).map(([name, each]) =>
    fc.tuple(whole, unfitting(each)).map(([object, wrong]) => ({ ...object, [name]: wrong })),
  );
  const incomplete = (schema.required ?? []).map((name) =>
    whole.map((object) => Object.fromEntries(Object.entries(object).filter(([key]) => key !== name))),
  );
  const extended = whole.map((object) => ({ ...object, 'no member': null }));
  return [...broken, ...incomplete, ...(additionalProperties === false ? [extended] : [])];
}

/** The optional columns, besides the two that every feed has. */
const optionalColumns = ['description', 'brand', 'category', 'price', 'currency', 'availability'];

/** Few skus and few values, so that rows of one feed and of the next match, and often agree. */
const cells: Record<string, fc.Arbitrary<string>> = {
  sku: fc.constantFrom('A', 'B', 'C', ' C ', 'D', '00D', 'E', 'กข', '', ' '),
  product_name: fc.constantFrom('Tent', 'Lamp', ' Lamp', 'Lamp "2"', 'Line\nbreak', '=1+1', ''),
  description: fc.constantFrom('', 'Text', 'Two\r\nlines', '\\N', 'a\tb'),
  brand: fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom('', 'Acme', 'ACME', 'Ac\0me') },
    { weight: 1, arbitrary: fc.constant('b'.repeat(256)) },
  ),
  category: fc.constantFrom('', 'Camping', 'Camping/Tents'),
  price: fc.constantFrom(
    '',
    '1',
    '1.0',
    '1.00',
    '2.5',
    '$2.5',
    '1,000',
    'USD 5',
    '5 EUR',
    '0',
    '0.00',
    'NA',
    '4,20',
  ),
  currency: fc.constantFrom('', 'EUR', 'eur', 'USD', 'XXQ'),
  availability: fc.constantFrom('', 'in_stock', 'In Stock', 'ask us', 'sold out'),
  colour: fc.constantFrom('', 'red'),
};

/** Feeds of any columns in any order, with repeated skus, bad cells, empty cells, short and misquoted rows. */
export const anyFeed: fc.Arbitrary<string> = fc
  .tuple(fc.subarray([...optionalColumns, 'colour']), fc.constantFrom(',', ';', '\t'))
  .chain(([optional, delimiter]) =>
    fc.tuple(
      fc.shuffledSubarray(['sku', 'product_name', ...optional], { minLength: optional.length + 2 }),
      fc.constant(delimiter),
    ),
  )
  .chain(([columns, delimiter]) => {
    const row = fc
      .tuple(...columns.map((column) => cells[column]!))
      .map((values) => stringify([values], { delimiter, eof: false }));
    const oddRow = fc.constantFrom('', ' ', `"A"x${delimiter}`, delimiter.repeat(9), 'A');
    const anyRow = fc.oneof({ weight: 9, arbitrary: row }, { weight: 1, arbitrary: oddRow });
    return fc
      .tuple(fc.array(anyRow, { maxLength: 12 }), fc.constantFrom('\n', '\r\n'))
      .map(([rows, end]) => [columns.join(delimiter), ...rows].join(end));
  });

const pieces = [
  ...[
    ',',
    ';',
    '\t',
    '"',
    '""',
    '"""',
    '\n',
    '\r\n',
    '\r',
    ' ',
    '\n\n',
    '\u0085',
    '\u00a0',
    '\ufeff',
    '\0',
    '\\N',
    '\\.',
    '\\',
  ],
  ...[
    'A',
    'B',
    'Tent',
    '12" x',
    '"a, b"',
    '"a\nb"',
    '"a""b"',
    '5',
    'EUR',
    '$1,000.00',
    'in stock',
    '=1+1',
    'é',
    '😀',
    'sku',
  ],
];
const headers = fc.constantFrom(
  'sku,product_name\n',
  'sku;product_name;price\r\n',
  'product_name\tsku\tavailability\n',
  '\ufeffsku,product_name,price,currency\r\n',
  '\n \n"sku","product_name"\n',
  'sku,product_name,"a\nb",price\n',
  ' SKU , Product_Name ,,\n',
  'sku,product_name',
  'sku,sku,product_name\n',
  'sku,name\n',
  '',
);
const anyText = fc
  .tuple(
    headers,
    fc.array(
      fc.oneof(
        { weight: 9, arbitrary: fc.constantFrom(...pieces) },
        fc.string({ unit: 'binary', maxLength: 4 }),
      ),
      { maxLength: 60 },
    ),
  )
  .map(([head, rest]) => head + rest.join(''));

/** Bytes of which some are replaced, missing, or repeated. */
export const anyBytes = fc
  .tuple(
    anyText,
    fc.array(fc.tuple(fc.nat(), fc.nat(255), fc.constantFrom('set', 'drop', 'repeat')), { maxLength: 2 }),
    fc.nat(3),
  )
  .map(([csv, damages, often]) => {
    let bytes = Buffer.from(csv);
    if (often > 0) return bytes;
    for (const [place, byte, how] of damages) {
      const at = bytes.length === 0 ? 0 : place % bytes.length;
      const middle =
        how === 'set'
          ? Buffer.from([byte])
          : how === 'drop'
            ? Buffer.alloc(0)
            : bytes.subarray(at, at + byte);
      bytes = Buffer.concat([bytes.subarray(0, at), middle, bytes.subarray(how === 'repeat' ? at : at + 1)]);
    }
    return bytes;
  });
