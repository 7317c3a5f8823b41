import type { Ajv, ValidateFunction } from 'ajv';
import type { ShapeError } from '../../base/errors';
import { prepareBody, type BodySchema } from './prepare-body';
import { toTyped } from './query';
import { toShapeErrors } from '../../base/shape-errors';

export interface FormFields {
  has(name: string): boolean;
  /** Maximum size of any field in its encoded form: the greatest `maxLength`. */
  bytesMax: number;
  /** Checks a field when it arrives. @returns its typed value, or the error */
  read(name: string, text: string): { value: unknown } | { error: ShapeError };
}

/** Opens the fields of a form. Validators are compiled on first use. */
export function openFormFields(schema: BodySchema, makeAjv: () => Ajv): FormFields {
  const { properties = {} } = schema;
  const validators = new Map<string, ValidateFunction>();
  let ajv: Ajv | undefined;
  const validatorOf = (name: string) => {
    let validate = validators.get(name);
    if (!validate) {
      ajv ??= makeAjv();
      const body = { type: 'object', properties: { [name]: properties[name]! } };
      validate = ajv.compile({ type: 'object', properties: { requestBody: body } });
      validators.set(name, validate);
    }
    return validate;
  };
  return {
    has: (name) => Object.hasOwn(properties, name),
    bytesMax: Math.max(...Object.values(properties).map(({ maxLength = 0 }) => maxLength)),
    read(name, text) {
      const body = { [name]: toTyped(text, properties[name]!.type) };
      const requestBody = prepareBody(body, schema) as typeof body;
      const validate = validatorOf(name);
      if (validate({ requestBody })) return { value: requestBody[name] };
      const sent = { path: {}, query: {}, headers: {}, body: { [name]: text } };
      const { type, loc, msg, input, ctx } = toShapeErrors(validate.errors!, sent)[0]!;
      // In the member order of a form's other errors.
      return { error: { type, loc, msg, input, ...(ctx && { ctx }) } };
    },
  };
}
