/** Applies a merge patch (RFC 7396). */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const members = new Map(Object.entries(isObject(target) ? target : {}));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) members.delete(name);
    else members.set(name, applyMergePatch(members.get(name), value));
  }
  return Object.fromEntries(members);
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Makes a merge patch that sets the value at a JSON pointer. */
export function patchAt(pointer: string, value: unknown): unknown {
  const members = pointer.split('/').slice(1);
  return members.reduceRight<unknown>((patch, member) => ({ [member]: patch }), value);
}
