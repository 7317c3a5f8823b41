import { basename } from 'node:path';
import Ajv from 'ajv';
import { components } from '../../../generated/openapi.json';
import type { ShapeError } from '../../base/errors';
import { onePerPlace, toShapeErrors } from '../../base/shape-errors';
import { builtInFormats, findBuiltInFormat } from '../../feed-format/built-in-formats';
import type { FeedFormat, FormatDefinition } from '../../feed-format/format-definition';
import { definitionFaults } from '../../feed-format/format-faults';
import { constantFaults } from '../../feed-format/rows/constant-faults';
import { exitCodes, Failure, UsageFailure } from './failures';
import { printable } from './printable';
import { readJson } from './read-json';

/**
 * Reads the format that `--format` names: a built-in one, or a file with a definition.
 * @param resolvePath - resolves the path of a file
 * @throws UsageFailure if there is neither, Failure for a definition that a service would refuse
 */
export async function readFormat(named: string, resolvePath: (path: string) => string): Promise<FeedFormat> {
  const builtIn = findBuiltInFormat(named);
  if (builtIn) return builtIn;
  if (named === '-') throw new UsageFailure('Wrong --format: it must be a file, or a built-in format.');
  const path = resolvePath(named);
  const definition = await readJson<FormatDefinition>(path).catch((error: unknown) => {
    const names = builtInFormats.map(({ name }) => name).join(', ');
    throw new UsageFailure(`${(error as Error).message} The built-in formats are ${names}.`);
  });
  const errors = definitionErrors(definition);
  if (errors.length === 0) return { name: basename(path), definition };
  const lines = errors.map(({ loc, msg }) => printable(`${loc.slice(1).join('.') || 'the file'}: ${msg}`));
  throw new Failure(
    exitCodes.refused,
    [printable(`${basename(path)} is not a format:`), ...lines].join('\n'),
    { errors },
  );
}

/** Finds the faults of a definition, as a service does when a format is saved. */
export function definitionErrors(definition: unknown): ShapeError[] {
  const isValid = validator();
  isValid({ requestBody: definition });
  const sent = { path: {}, query: {}, headers: {}, body: definition as object };
  const violations = toShapeErrors(isValid.errors ?? [], sent);
  return onePerPlace([...violations, ...definitionFaults(definition), ...constantFaults(definition)]);
}

/** Compiles the schema of a definition, as the body of a request. */
function validator() {
  const ajv = new Ajv({ strict: false, allErrors: true, validateSchema: false });
  ajv.addSchema({ components }, 'document');
  return ajv.compile({
    type: 'object',
    required: ['requestBody'],
    properties: { requestBody: { $ref: 'document#/components/schemas/FormatDefinition' } },
  });
}
