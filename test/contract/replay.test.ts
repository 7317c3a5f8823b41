import Ajv from 'ajv';
import addFormats from 'ajv-formats';
import { documentedResponses } from '../support/documented';
import { exceptions, replays, startState, type State } from './replays';

const examples = documentedResponses.flatMap(({ examples, ...response }) =>
  Object.entries(examples).map(([name, example]) => ({
    ...response,
    key: `${response.operationId} ${response.status} ${name}`,
    example,
  })),
);

// A header's value is text; the schema may want a number.
const ajv = new Ajv({ coerceTypes: true, strict: false });
addFormats(ajv);

/** The types of a value's parts. Of an array, those of its elements, each once. */
function shapeOf(value: unknown): unknown {
  if (value === null) return 'null';
  if (Array.isArray(value)) return [...new Set(value.map((element) => JSON.stringify(shapeOf(element))))].sort();
  if (typeof value !== 'object') return typeof value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, child]) => [key, shapeOf(child)]),
  );
}

let state: State;
beforeAll(async () => {
  state = await startState();
}, 60_000);

describe('the examples of the document', () => {
  it('are replayed, each of them, or there is a reason why not', () => {
    const keys = examples.map(({ key }) => key);

    expect([...Object.keys(replays), ...Object.keys(exceptions)].sort()).toEqual([...keys].sort());
  });

  it.each(examples.filter(({ key }) => key in replays))(
    '$key is what the service answers',
    async ({ key, status, mediaType, headers, example }) => {
      const answer = await replays[key]!(state);

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
      // Errors, and files, are shown to the letter.
      if (status >= 400 || mediaType === 'text/csv') expect(answer.body).toEqual(example);
      else expect(shapeOf(answer.body)).toEqual(shapeOf(example));
    },
  );
});
