import type { OpenAPIV3 } from 'openapi-types';
import { codesOf, isOpenEnum, pairs, withoutReferences, type ErrorCode } from './contract-documents';

type Document = OpenAPIV3.Document;

export interface Change {
  /** Breaking: a client of the old document may stop working or compiling. */
  impact: 'breaking' | 'additive';
  /** An operation (`GET /orders`) or the name of a component. */
  subject: string;
  message: string;
}

/** Lists the changes that Redocly does not report. */
export function ruleChanges(base: Document, revision: Document): Change[] {
  return [
    ...securityChanges(base, revision),
    ...pathParameterChanges(base, revision),
    ...errorCodeChanges(base, revision),
    ...removedSchemas(base, revision),
    ...closedEnums(base, revision),
  ];
}

/** Redocly rates newly required security as a patch. */
function securityChanges(base: Document, revision: Document): Change[] {
  return pairs(base, revision).flatMap(({ subject, before, after }): Change[] => {
    const old = before.security ?? base.security ?? [];
    const now = after.security ?? revision.security ?? [];
    if (JSON.stringify(old) === JSON.stringify(now)) return [];
    const isOpen = now.length === 0 || now.some((requirement) => Object.keys(requirement).length === 0);
    const kept = old.every((requirement) =>
      now.some((other) => JSON.stringify(other) === JSON.stringify(requirement)),
    );
    return isOpen || (old.length > 0 && kept)
      ? [{ impact: 'additive', subject, message: 'Other credentials, or none, are accepted too.' }]
      : [
          {
            impact: 'breaking',
            subject,
            message: 'The security changed: credentials that were accepted are no longer accepted.',
          },
        ];
  });
}

/** Generated clients take path parameters by name. */
function pathParameterChanges(base: Document, revision: Document): Change[] {
  return pairs(base, revision).flatMap(({ subject, path, revisionPath }): Change[] => {
    const [old, now] = [path, revisionPath].map((each) => each.match(/\{[^}]+\}/g)?.join() ?? '');
    return old === now
      ? []
      : [{ impact: 'breaking', subject, message: `The path parameters ${old} became ${now}.` }];
  });
}

/** Programs choose by error code and status. */
function errorCodeChanges(base: Document, revision: Document): Change[] {
  const plain = withoutReferences(base) as Document;
  return pairs(plain, withoutReferences(revision) as Document).flatMap(({ subject, before, after }) => {
    const [old, now] = [codesOf(before), codesOf(after)];
    const [lost, added] = [without(old, now), without(now, old)];
    return [
      ...lost.map(({ status, code }): Change => {
        const other = added.find((each) => each.code === code);
        const fate = other ? `moved to ${other.status}` : 'is gone';
        return { impact: 'breaking', subject, message: `The error code \`${code}\` of ${status} ${fate}.` };
      }),
      ...added
        .filter(({ status, code }) => {
          const isMoved = lost.some((each) => each.code === code);
          return !isMoved && old.some((each) => each.status === status);
        })
        .map(({ status, code }): Change => {
          return { impact: 'additive', subject, message: `The error code \`${code}\` of ${status} is new.` };
        }),
    ];
  });
}

const without = (codes: readonly ErrorCode[], others: readonly ErrorCode[]) =>
  codes.filter(({ status, code }) => !others.some((each) => each.status === status && each.code === code));

/** Users of generated clients import types by schema name. */
function removedSchemas(base: Document, revision: Document): Change[] {
  const now = revision.components?.schemas ?? {};
  return Object.keys(base.components?.schemas ?? {})
    .filter((name) => !(name in now))
    .map((name) => ({
      impact: 'breaking',
      subject: name,
      message: `The schema ${name} is gone: clients import its type.`,
    }));
}

/** Clients of an open enum have a default for unknown values, which a closed one makes an error. */
function closedEnums(base: Document, revision: Document): Change[] {
  const now = revision.components?.schemas ?? {};
  return Object.entries(base.components?.schemas ?? {}).flatMap(([subject, schema]): Change[] => {
    const after = now[subject];
    if (!isOpenEnum(schema) || !after || isOpenEnum(after) || !('enum' in after)) return [];
    return [{ impact: 'breaking', subject, message: `The open enum ${subject} is closed.` }];
  });
}
