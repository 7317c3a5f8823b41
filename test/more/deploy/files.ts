import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DockerfileParser, type Instruction } from 'dockerfile-ast';
import { parse, parseAllDocuments } from 'yaml';
import { project } from '../../support/harness';

/** Content of a YAML file, which the tests check. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a type would only repeat what the tests state
export type Document = any;

export const read = (path: string): string => readFileSync(join(project, path), 'utf8');

/** Parses a file of settings: `NAME=value` per line, with comments. */
export function readSettings(path: string): Record<string, string> {
  const lines = read(path)
    .split('\n')
    .filter((line) => line && !line.startsWith('#'));
  return Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]));
}

/** `compose.yaml` with resolved anchors and merges, but unresolved variables. */
export function readCompose(): Document {
  return parse(read('compose.yaml'), { merge: true });
}

/** The documents of a file in `deploy/kubernetes`. */
export function readManifests(name: string): Document[] {
  return parseAllDocuments(read(`deploy/kubernetes/${name}`)).map((document) => {
    if (document.errors[0]) throw document.errors[0];
    return document.toJS();
  });
}

/** Instructions of the last stage of the Dockerfile. */
export interface Image {
  stage: Instruction[];
  /** The values of `ENV`. */
  env: Record<string, string>;
  entrypoint: string[];
  healthcheck: string[];
  user: string;
}

export function readImage(): Image {
  const instructions = DockerfileParser.parse(read('Dockerfile')).getInstructions();
  const from = instructions.findLastIndex((instruction) => instruction.getKeyword() === 'FROM');
  const stage = instructions.slice(from);
  const one = (keyword: string) => stage.find((instruction) => instruction.getKeyword() === keyword)!;
  const environment = one('ENV').getArguments();
  return {
    stage,
    env: Object.fromEntries(
      environment.map((argument) => argument.getValue().split('=') as [string, string]),
    ),
    entrypoint: commandOf(one('ENTRYPOINT')),
    healthcheck: commandOf(one('HEALTHCHECK')),
    user: one('USER').getArguments()[0]!.getValue(),
  };
}

/** Returns the words of a command. @throws SyntaxError unless in exec form: a shell would not forward signals */
function commandOf(instruction: Instruction): string[] {
  const text = instruction.getRawArgumentsContent()!;
  return JSON.parse(text.replace(/^.*?\bCMD /s, '')) as string[];
}
