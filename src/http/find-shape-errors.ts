import type { ShapeError } from '../shared/errors';
import type { OpenApi } from './operations';
import type { SentRequest } from './prepared-router';
import type { ServedOperation } from './served-operation';
import { toShapeErrors, type SentValues } from './shape-errors';

/** Returns the errors of the schemas, and of the operation's rule. */
export function findShapeErrors(
  openApi: OpenApi,
  { rule }: ServedOperation,
  request: SentRequest,
  sent: SentValues,
): ShapeError[] {
  const violations = openApi.violations(request);
  const errors = violations.length === 0 ? [] : toShapeErrors(violations, sent);
  return rule ? [...errors, ...rule(sent)] : errors;
}
