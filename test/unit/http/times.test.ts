import fc from 'fast-check';
import OpenAPIBackend, { type Document } from 'openapi-backend';
import document from '../../../generated/openapi.json';
import { parseMicros } from '../../../src/catalog/products/point-in-time';
import type { Operations } from '../../../src/http/contract/contract';
import { openOperations, type OpenApi } from '../../../src/http/contract/operations';
import { SentRequest } from '../../../src/http/contract/prepared-router';
import { operations } from '../../support/contract';

const definition = document as unknown as Document;
const { pattern } = document.components.schemas.PointInTime;

const unserved = Object.fromEntries(
  operations.map(({ operationId }) => [
    operationId,
    { handle: () => Promise.reject(new Error(operationId)) },
  ]),
) as unknown as Operations;

interface TimeParameter {
  method: string;
  path: string;
  name: string;
}

let openApi: OpenApi;
let parameters: TimeParameter[];
beforeAll(async () => {
  openApi = await openOperations(definition, unserved, 1024);
  const backend = await new OpenAPIBackend({ definition, quick: true }).init();
  parameters = backend
    .getOperations()
    .flatMap(({ method, path, parameters: all = [] }) =>
      (all as { name: string; in: string; schema: { format?: string; pattern?: string } }[])
        .filter(({ schema }) => schema.format === 'date-time' || schema.pattern === pattern)
        .map(({ name }) => ({ method: method.toUpperCase(), path, name })),
    );
});

const errorsOf = ({ method, path, name }: TimeParameter, text: string) => {
  const request = new SentRequest(method, path.replaceAll(/\{[^}]+\}/g, 'x'));
  request.query = { [name]: text };
  const sent = { path: {}, query: request.query, headers: {}, body: undefined };
  return openApi.shapeErrors(request, sent).filter(({ loc }) => loc.join('.') === `query.${name}`);
};

const form = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):[0-5]\d(?:\.\d+)?(?:Z|[+-](\d\d):(\d\d))$/;

/** Tells what is wrong with a time, by the calendar alone. */
function faultOf(text: string): string | undefined {
  const match = form.exec(text);
  if (!match) return 'string_pattern_mismatch';
  const at = (group: number) => Number(match[group] ?? 0);
  const [year, month, day, hour, minute] = [at(1), at(2), at(3), at(4), at(5)];
  const isLeapYear = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = [31, isLeapYear ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1];
  const isTime = days !== undefined && day >= 1 && day <= days && hour < 24 && minute < 60;
  return isTime && at(6) < 24 && at(7) < 60 ? undefined : 'datetime_parsing';
}

const digits = (max: number, length = 2) =>
  fc.integer({ min: 0, max }).map((value) => String(value).padStart(length, '0'));
const year = fc.oneof(digits(9999, 4), fc.constantFrom('1900', '2000', '2024', '2026'));
const month = fc.oneof(digits(13), fc.constant('02'));
const zone = fc.oneof(
  fc.constant('Z'),
  fc
    .tuple(fc.constantFrom('+', '-'), digits(25), digits(61))
    .map(([sign, hours, minutes]) => `${sign}${hours}:${minutes}`),
);
const fraction = fc.oneof(fc.constant(''), fc.stringMatching(/^\.\d{0,9}$/));
const time = fc
  .tuple(
    year,
    month,
    fc.oneof(digits(33), fc.constantFrom('28', '29', '30')),
    digits(25),
    digits(61),
    digits(61),
    fraction,
    zone,
  )
  .map(([y, m, d, h, min, s, f, z]) => `${y}-${m}-${d}T${h}:${min}:${s}${f}${z}`);
/** Times with a letter in lower case, a character less, or one replaced. */
const broken = fc
  .tuple(time, fc.nat(30), fc.constantFrom('', ' ', 't', 'z', '0', ':', '\n'))
  .map(([text, at, other]) => text.slice(0, at) + other + text.slice(at + 1));
const anyTime = fc.oneof({ weight: 4, arbitrary: time }, broken, fc.string());

it('every parameter with a time is among them', () => {
  expect(new Set(parameters.map(({ name }) => name))).toEqual(
    new Set(['uploaded_from', 'uploaded_to', 'as_of', 'from', 'to']),
  );
});

it('a time is refused if it is not written as in RFC 3339, or does not exist', () => {
  fc.assert(
    fc.property(anyTime, (text) => {
      const fault = faultOf(text);
      for (const parameter of parameters)
        expect(errorsOf(parameter, text).map(({ type }) => type)).toEqual(fault === undefined ? [] : [fault]);
      if (fault === undefined)
        expect([new Date(text).getTime(), parseMicros(text)].every(Number.isFinite)).toBe(true);
    }),
    // Not leap seconds, though they are 23:59 in UTC.
    { numRuns: 1000, examples: [['2026-03-01T25:57:00+01:58'], ['2026-03-01T23:60:00+00:01']] },
  );
});

it.each([
  ['2026-02-30T00:00:00Z', { type: 'datetime_parsing', msg: 'Input should be a valid date-time' }],
  [
    '2026-03-01',
    { type: 'string_pattern_mismatch', msg: `String should match pattern '${pattern}'`, ctx: { pattern } },
  ],
])('%s has the same error in every parameter', (input, error) => {
  for (const parameter of parameters)
    expect(errorsOf(parameter, input)).toEqual([{ ...error, loc: ['query', parameter.name], input }]);
});
