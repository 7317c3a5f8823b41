import Ajv from 'ajv';
import addFormats from 'ajv-formats';
import { documentedResponses } from '../support/contract';
import { replays, startState, type State } from './replays';

const examples = documentedResponses.flatMap(({ examples, ...response }) =>
  Object.entries(examples).map(([name, example], at) => ({
    ...response,
    // A mock sends the first code of the status with the first example.
    mockedCode: at === 0 ? response.codes[0] : undefined,
    key: `${response.operationId} ${response.status} ${name}`,
    example,
  })),
);

// The value of a header is text; the schema may require a number.
const ajv = new Ajv({ coerceTypes: true, strict: false });
addFormats(ajv);

/** Lists places where a response lacks keys or types of its example; lists must contain matches of the example's elements. */
function differences(answer: unknown, example: unknown, at = 'body'): string[] {
  if (kindOf(answer) !== kindOf(example)) return [`${at}: ${kindOf(answer)} instead of ${kindOf(example)}`];
  if (Array.isArray(example)) {
    const elements = answer as unknown[];
    if (example.length === 0) return elements.length === 0 ? [] : [`${at}: elements`];
    return example
      .map((element: unknown) => elements.map((candidate) => differences(candidate, element, `${at}[]`)))
      .filter((candidates) => candidates.every((found) => found.length > 0))
      .map((candidates) => candidates[0]?.join() ?? `${at}: no elements`);
  }
  if (typeof example !== 'object' || example === null) return [];
  const [had, wanted] = [answer, example] as Record<string, unknown>[];
  return [...new Set([...Object.keys(had!), ...Object.keys(wanted!)])].flatMap((key) => {
    if (!(key in had!)) return [`${at}.${key}: missing`];
    if (!(key in wanted!)) return [`${at}.${key}: not in the example`];
    return differences(had![key], wanted![key], `${at}.${key}`);
  });
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

let state: State;
beforeAll(async () => {
  state = await startState();
});

describe('the examples of the document', () => {
  it('all have a replay', () => {
    const keys = examples.map(({ key }) => key);

    expect({
      'to add to test/contract/replays.ts': keys.filter((key) => !replays[key]),
      'to remove from it': Object.keys(replays).filter((key) => !keys.includes(key)),
    }).toEqual({ 'to add to test/contract/replays.ts': [], 'to remove from it': [] });
  });

  it.each(examples)(
    '$key equals the response of the service',
    async ({ key, status, mediaType, headers, mockedCode, example }) => {
      const replay = replays[key];
      if (!replay) throw new Error(`Add '${key}' to test/contract/replays.ts.`);
      const answer = await replay(state);

      expect({ status: answer.status, body: answer.body as unknown }).toEqual({
        status,
        body: expect.anything() as unknown,
      });
      expect(answer.headers.get('content-type')?.split(';')[0]).toBe(mediaType);
      for (const [name, schema] of Object.entries(headers)) {
        const value = { value: answer.headers.get(name) };
        const validate = ajv.compile({ type: 'object', properties: { value: schema } });
        expect({ name, value: value.value, valid: validate(value) }).toEqual({
          name,
          value: expect.any(String) as unknown,
          valid: true,
        });
      }
      if (mockedCode !== undefined) expect(answer.headers.get('x-error-code')).toBe(mockedCode);
      // Errors and files equal their examples exactly.
      if (status >= 400 || mediaType === 'text/csv') expect(answer.body).toEqual(example);
      else expect(differences(answer.body, example)).toEqual([]);
    },
  );
});
