import type { OpenAPIV3 } from 'openapi-types';
import { codesOf, withoutReferences, type ErrorCode } from '../contract-documents';
import { code, page, table } from './markdown';

interface Operation {
  id: string;
  path: string;
  /** `GET /feeds` */
  route: string;
  /** The codes by status. */
  errors: [status: string, codes: string[]][];
}

export interface DescribedCode {
  name: string;
  status: string;
  /** What is wrong, then what to do. */
  text: string;
}

/** Lists every code with its operations, then every operation with its codes. */
export function errorsPage(document: OpenAPIV3.Document): string {
  const operations = operationsOf(document);
  const codes = describedCodes(document);
  const common = codes.filter(({ name }) => operationsWith(name, operations).length >= operations.length - 1);
  const isOwn = (name: string) => !common.some((each) => each.name === name);
  return page(
    'Error codes',
    'spec/openapi.yaml',
    'Every 4xx and 5xx response has one of these codes in the header `x-error-code`. Decide by the code in a program: `detail` is for' +
      ' people. A new minor version can add codes. Treat an unknown code by its status.' +
      ' The [API conventions](api-conventions.md#errors) describe the bodies, and the order of the checks.',
    '## By code',
    'A code without operations belongs to requests that reach no operation.',
    table(
      ['Code', 'Status', 'Meaning and remedy', 'Operations'],
      codes.map(({ name, status, text }) => [code(name), status, text, nameOperations(name, operations)]),
    ),
    '## By operation',
    `Not repeated here: ${common.map(({ name, status }) => `${code(name)} (${status})`).join(', ')}, which all operations have but those` +
      ' that the table above excepts.',
    table(
      ['Operation', 'Codes'],
      operations.map(({ id, route, errors }) => [
        `${code(id)}: ${code(route)}`,
        errors
          .map(([status, own]) => [status, own.filter(isOwn)] as const)
          .filter(([, own]) => own.length > 0)
          .map(([status, own]) => `${status} ${own.map(code).join(', ')}`)
          .join('; '),
      ]),
    ),
  );
}

function operationsOf(document: OpenAPIV3.Document): Operation[] {
  const { paths } = withoutReferences(document) as OpenAPIV3.Document;
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item as Record<string, OpenAPIV3.OperationObject>).map(([method, operation]) => ({
      id: operation.operationId!,
      path,
      route: `${method.toUpperCase()} ${path}`,
      errors: byStatus(codesOf(operation)),
    })),
  );
}

function byStatus(codes: readonly ErrorCode[]): Operation['errors'] {
  const statuses = [...new Set(codes.map(({ status }) => status))];
  const codesWith = (status: string) => codes.filter((each) => each.status === status);
  return statuses.map((status) => [status, codesWith(status).map((each) => each.code)]);
}

/** Reads the list in the description of the codes: `- \`code\` (status): text`. */
export function describedCodes({ components }: OpenAPIV3.Document): DescribedCode[] {
  const { description, enum: names } = components!.schemas!.KnownErrorCode as OpenAPIV3.SchemaObject;
  const items = description!.matchAll(/^- `(\w+)` \((\d+)\): (.*(?:\n {2}.*)*)/gm);
  const described = Array.from(items, ([, name, status, text]) => ({
    name: name!,
    status: status!,
    text: text!.replaceAll(/\s+/g, ' '),
  }));
  const missing = names!.filter((name) => !described.some((each) => each.name === name));
  if (missing.length > 0) throw new Error(`KnownErrorCode does not describe ${missing.join(', ')}`);
  return described;
}

const operationsWith = (name: string, operations: Operation[]) =>
  operations.filter(({ errors }) => errors.some(([, codes]) => codes.includes(name)));

/** Names the operations with a code, shortly for codes that nearly all have. */
function nameOperations(name: string, operations: Operation[]): string {
  const having = operationsWith(name, operations);
  const ofPaths = operations.filter(({ path }) => path.includes('{'));
  if (having.length > 1 && having.length === ofPaths.length && ofPaths.every((each) => having.includes(each)))
    return 'All with a parameter in the path';
  if (having.length < operations.length - 1) return having.map(({ id }) => code(id)).join(', ');
  const others = operations.filter((operation) => !having.includes(operation));
  return others.length === 0 ? 'All' : `All but ${others.map(({ id }) => code(id)).join(', ')}`;
}
