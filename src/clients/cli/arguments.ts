import { resolve } from 'node:path';
import { InvalidArgumentError } from 'commander';
import { everyDelimiter } from '../../feed-format/delimiter';

/** The option of every list. */
export const cursor: [string, string] = ['--cursor <CURSOR>', 'continue after the last page'];

/** Makes a parser of a number. @throws InvalidArgumentError from the parser */
export function wholeNumber(option: string, min: number, max: number): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= min && number <= max) return number;
    throw new InvalidArgumentError(`Wrong ${option}: it must be a whole number from ${min} to ${max}.`);
  };
}

/** Makes a parser of a text. @throws InvalidArgumentError from the parser */
export function nonEmpty(name: string): (text: string) => string {
  return (text) => {
    if (text) return text;
    throw new InvalidArgumentError(`Wrong ${name}: it must not be empty.`);
  };
}

/** Collects the values of an option that can be repeated. */
export const collect = (text: string, earlier: string[] = []) => [...earlier, text];

/** Parses a delimiter. @throws InvalidArgumentError */
export function delimiter(text: string): string {
  const character = text === String.raw`\t` ? '\t' : text;
  if (everyDelimiter.some((known) => known === character)) return character;
  throw new InvalidArgumentError(String.raw`Wrong --delimiter: it must be , ; | or \t.`);
}

/** Resolves a path; `-` is standard input. */
export const inCallersFolder = (env: NodeJS.ProcessEnv) => (path: string) =>
  path === '-' ? path : resolve(callersFolder(env), path);

/** npm runs scripts in the folder of the project; `INIT_CWD` is the folder of its caller. */
export function callersFolder(env: NodeJS.ProcessEnv): string {
  return (env.npm_lifecycle_event === 'feed' && env.INIT_CWD) || '.';
}
