import { ServiceError, type ShapeError } from '../../base/errors';
import type { ReadAsPut } from './contract';
import { parseJsonBody } from '../body/json-body';
import type { OpenApi } from './operations';
import { prepareBody } from '../body/prepare-body';
import { SentRequest } from './prepared-router';
import { onePerPlace } from '../../base/shape-errors';

/** Makes a reader of texts as JSON bodies of operations with PUT, by their schemas and rules. */
export function readerOfPuts(openApi: OpenApi): ReadAsPut {
  return (path, text) => {
    const request = new SentRequest('PUT', path);
    const operation = openApi.find(request)!;
    const { value, errors } = parsedJson(text);
    request.body = prepareBody(value, operation.body!.schema);
    if (value) {
      const sent = { path: openApi.pathParameters(request), query: {}, headers: {}, body: value };
      errors.push(...openApi.shapeErrors(request, sent));
    }
    return errors.length > 0 ? { errors: onePerPlace(errors) } : { body: request.body };
  };
}

function parsedJson(text: string): { value?: object; errors: ShapeError[] } {
  try {
    return parseJsonBody(text);
  } catch (error) {
    const fault = { type: 'json_invalid', loc: ['body'], msg: 'Input should be valid JSON', input: null };
    return { errors: (error instanceof ServiceError && error.data.shapeErrors) || [fault] };
  }
}
