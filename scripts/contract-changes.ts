import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OpenAPIV3 } from 'openapi-types';
import { at, isMethod, methods, pairs, steps, withoutReferences } from './contract-documents';
import { ruleChanges, type Change } from './contract-rules';

type Document = OpenAPIV3.Document;

/** Lists the changes for clients, by Redocly's findings and by our rules. Texts and examples do not count. */
export function compareContracts(released: Document, revision: Document): Change[] {
  const { base, changes: movedOut } = withoutMovedOut(released, revision);
  const changes = [...movedOut, ...redoclyChanges(base, revision), ...ruleChanges(base, revision)];
  const unique = new Map(changes.map((change) => [`${change.subject} ${change.message}`, change]));
  return [...unique.values()].sort((a, b) => (a.impact === b.impact ? 0 : a.impact === 'breaking' ? -1 : 1));
}

/**
 * Removes operations that are served outside the document (`x-outside-contract`), with their schemas: responses are unchanged.
 */
function withoutMovedOut(released: Document, revision: Document): { base: Document; changes: Change[] } {
  const { 'x-outside-contract': outside = [] } = revision as { 'x-outside-contract'?: string[] };
  const base = structuredClone(released);
  const changes = outside.flatMap((subject): Change[] => {
    const [method, path] = subject.split(' ') as [string, string];
    const item = base.paths[path];
    const key = method.toLowerCase() as (typeof methods)[number];
    if (!item?.[key] || revision.paths[path]?.[key]) return [];
    item[key] = undefined;
    return [{ impact: 'additive', subject, message: 'Left the document; the address is served as before.' }];
  });
  const hasOperations = ([, item]: [string, Document['paths'][string]]) =>
    methods.some((each) => item?.[each]);
  base.paths = Object.fromEntries(Object.entries(base.paths).filter(hasOperations));
  const [before, after] = [usedSchemas(released), usedSchemas(base)];
  const isKept = ([name]: [string, unknown]) => after.has(name) || !before.has(name);
  const schemas = Object.fromEntries(Object.entries(base.components?.schemas ?? {}).filter(isKept));
  base.components = { ...base.components, schemas };
  return { base, changes };
}

/** Finds the schemas that operations and webhooks refer to, directly or not. */
function usedSchemas({ components = {}, ...rest }: Document): Set<string> {
  const used = new Set<string>();
  const look = (node: unknown) => {
    for (const [, reference] of JSON.stringify(node).matchAll(/"\$ref":"#\/components\/([^"]+)"/g)) {
      if (used.has(reference!)) continue;
      used.add(reference!);
      look(at(components, reference!));
    }
  };
  look(rest);
  return new Set([...used].filter((name) => name.startsWith('schemas/')).map((name) => name.slice(8)));
}

interface RedoclyChange {
  path: string;
  kind: 'added' | 'removed' | 'modified';
  impact: 'major' | 'minor' | 'patch';
  property?: string;
  verdicts: { ruleId: string; message: string }[];
  base?: { pointer: string };
  revision?: { pointer: string };
}

function redoclyChanges(base: Document, revision: Document): Change[] {
  const plainBase = withoutTexts(withWebhooksAsResponses(withoutReferences(base)));
  const plainRevision = withoutTexts(withWebhooksAsResponses(asSeenByOldClients(base, revision)));
  return runRedocly(plainBase, plainRevision).flatMap((change): Change[] => {
    const { kind, property, verdicts } = change;
    const removed = kind === 'removed' || verdicts.some(({ ruleId }) => ruleId === 'path-removed');
    const pointer = (removed ? change.base?.pointer : undefined) ?? change.path;
    const isBreaking =
      (change.impact === 'major' && !isOpenEnum(plainBase, change) && !admitsEmpty(change)) ||
      // A new default changes the response to an old request.
      (property === 'default' && kind !== 'added');
    // Tags only order the documentation.
    if ((!isBreaking && change.impact === 'patch') || change.path.startsWith('#/tags')) return [];
    const { subjects, rest } = placeOf(pointer, removed ? base : revision);
    const message = verdicts[0]?.message ?? [kind, rest, property].filter(Boolean).join(' ');
    return subjects.map((subject) => ({ impact: isBreaking ? 'breaking' : 'additive', subject, message }));
  });
}

/** Removes descriptions: Redocly finds a parameter again by its similarity, and takes one with a new description for another. */
function withoutTexts(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(withoutTexts);
  if (typeof node !== 'object' || node === null) return node;
  const members = Object.entries(node).filter(
    ([name, value]) => !(name === 'description' && typeof value === 'string'),
  );
  return Object.fromEntries(members.map(([name, value]) => [name, withoutTexts(value)]));
}

function runRedocly(base: unknown, revision: unknown): RedoclyChange[] {
  const folder = mkdtempSync(join(tmpdir(), 'catalog-contract-'));
  try {
    writeFileSync(join(folder, 'redocly.yaml'), 'extends: [diff-recommended]\ntelemetry: off\n');
    writeFileSync(join(folder, 'base.json'), JSON.stringify(base));
    writeFileSync(join(folder, 'revision.json'), JSON.stringify(revision));
    const redocly = join(__dirname, '..', 'node_modules', '.bin', 'redocly');
    const json = execFileSync(
      redocly,
      ['diff', 'base.json', 'revision.json', '--format', 'json', '--fail-on', 'none'],
      {
        cwd: folder,
        env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
        encoding: 'utf8',
        maxBuffer: 256 * 1024 * 1024,
        stdio: ['ignore', 'pipe', 'ignore'],
      },
    );
    return (JSON.parse(json) as { changes: RedoclyChange[] }).changes;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Resolves the document, without the alternatives for parameters that the operation lacks in the old document (`x-only-with`),
 * unless it has them there: old clients do not send such a parameter, to this operation or to one before it.
 */
function asSeenByOldClients(base: Document, revision: Document): unknown {
  const plain = withoutReferences(revision) as Document;
  const plainBase = withoutReferences(base) as Document;
  for (const { before, after } of pairs(plainBase, plain)) {
    const known = ((before.parameters ?? []) as OpenAPIV3.ParameterObject[]).map(({ name }) => name);
    const had = JSON.stringify(before.responses);
    const isMet = (alternative: object) => {
      const { 'x-only-with': parameter } = alternative as { 'x-only-with'?: string };
      return (
        parameter === undefined || known.includes(parameter) || had.includes(`"x-only-with":"${parameter}"`)
      );
    };
    for (const { content = {} } of Object.values(after.responses) as OpenAPIV3.ResponseObject[]) {
      for (const media of Object.values(content)) {
        media.schema = withAlternatives(media.schema, isMet) as OpenAPIV3.SchemaObject | undefined;
      }
    }
  }
  return plain;
}

/** Removes the alternatives that are not met, at any depth. */
function withAlternatives(node: unknown, isMet: (alternative: object) => boolean): unknown {
  if (Array.isArray(node)) return node.map((item) => withAlternatives(item, isMet));
  if (typeof node !== 'object' || node === null) return node;
  const { anyOf } = node as { anyOf?: object[] };
  const met = anyOf?.filter(isMet);
  if (met?.length === 1 && anyOf!.length > 1) return withAlternatives(met[0], isMet);
  return Object.fromEntries(
    Object.entries({ ...node, ...(met && { anyOf: met }) }).map(([key, value]) => [
      key,
      withAlternatives(value, isMet),
    ]),
  );
}

const webhookPath = '/x-webhooks/';

/** Treats a webhook body as a response: an added field breaks no client. */
function withWebhooksAsResponses(plain: unknown): unknown {
  const { 'x-webhooks': webhooks = {}, ...rest } = plain as Document & {
    'x-webhooks'?: Record<string, { post: OpenAPIV3.OperationObject }>;
  };
  const answers = Object.entries(webhooks).map(([name, { post }]) => {
    const { operationId } = post;
    const requestBody = post.requestBody as OpenAPIV3.RequestBodyObject;
    const parameters = (post.parameters ?? []) as OpenAPIV3.ParameterObject[];
    const headers = Object.fromEntries(parameters.map(({ name, in: _in, ...header }) => [name, header]));
    const responses = { '200': { description: '', content: requestBody.content, headers } };
    return [webhookPath + name, { get: { operationId, security: [], responses } }];
  });
  return { ...rest, paths: { ...rest.paths, ...Object.fromEntries(answers) } };
}

/** Translates a pointer into text. A path stands for all its operations. */
function placeOf(pointer: string, document: Document): { subjects: string[]; rest: string } {
  const [top, name, method, ...rest] = steps(pointer);
  if (top !== 'paths' || name === undefined) return { subjects: [method ?? top ?? ''], rest: rest.join('/') };
  if (name.startsWith(webhookPath)) {
    return { subjects: [`webhook ${name.slice(webhookPath.length)}`], rest: rest.join('/') };
  }
  if (method !== undefined && isMethod(method))
    return { subjects: [`${method.toUpperCase()} ${name}`], rest: rest.join('/') };
  const item = document.paths[name] ?? {};
  return {
    subjects: methods.filter((each) => item[each]).map((each) => `${each.toUpperCase()} ${name}`),
    rest: [method, ...rest].filter((step) => step !== undefined).join('/'),
  };
}

/** Whether values were only added to an open enum: clients must accept unknown values. */
function isOpenEnum(base: unknown, change: RedoclyChange): boolean {
  const grows = change.verdicts.every(({ ruleId }) => ruleId === 'enum-values-added');
  if (!grows || change.property !== 'enum' || !change.base) return false;
  const schema = at(base, change.base.pointer.replace(/\/enum$/, '')) as Record<string, unknown> | undefined;
  return schema?.['x-extensible'] === true;
}

/** Whether a pattern only admits the empty text in addition. */
function admitsEmpty({ property, verdicts }: RedoclyChange): boolean {
  const [, before, after] = /from '(.*)' to '(.*)'\.$/.exec(verdicts[0]?.message ?? '') ?? [];
  const [, inner] = /^\^(.+)\$$/.exec(before ?? '') ?? [];
  return property === 'pattern' && inner !== undefined && after === `^(${inner})?$`;
}
