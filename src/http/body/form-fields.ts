import type { Ajv, ValidateFunction } from 'ajv';
import type { ShapeError } from '../../base/errors';
import { prepareBody, type BodySchema } from './prepare-body';
import { toTyped } from './query';
import { toShapeErrors } from './shape-errors';

/** The fields of a form, as the document describes them. */
export interface FormFields {
  has(name: string): boolean;
  /** Maximum size of any field, as it is sent: the greatest `maxLength`. */
  bytesMax: number;
  /** Checks a field as it arrives. @returns its value as its type, or the error */
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
      // In the order of the other errors of a form.
      return { error: { type, loc, msg, input, ...(ctx && { ctx }) } };
    },
  };
}
