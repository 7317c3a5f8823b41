import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Where the version of the document (`info.version`) is repeated: the text before it. */
const places: Readonly<Record<string, RegExp>> = {
  'package.json': /(?<=^ {2}"version": ")[^"]+/gm,
  'package-lock.json':
    /(?<=^(?: {2}| {6})"name": "partner-catalog-integration-service",\n\s+"version": ")[^"]+/gm,
  Dockerfile: /(?<=image\.version=")[^"]+/g,
  'compose.yaml': /(?<=image: partner-catalog-integration-service:)\S+/g,
  'deploy/kubernetes/kustomization.yaml': /(?<=^ {4}newTag: )\S+/gm,
  'docs/how-to/deploy.md': /(?<=-t partner-catalog-integration-service:)\S+/g,
};

/** Returns the files that repeat the version, with this one. @throws Error if a file has no place for it */
export function withVersion(root: string, version: string): Record<string, string> {
  return Object.fromEntries(
    Object.entries(places).map(([path, place]) => {
      const text = readFileSync(join(root, path), 'utf8');
      if (text.search(place) === -1) throw new Error(`${path} does not show the version`);
      return [path, text.replaceAll(place, version)];
    }),
  );
}
