import { resolve } from 'node:path';
import { InvalidArgumentError, type Command } from 'commander';
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

/** Adds the options for a FILE that is a workbook. */
export function withWorkbookOptions(command: Command, env: NodeJS.ProcessEnv): Command {
  return command
    .option('--sheet <NAME>', 'of a workbook (.xlsx): the sheet to read, if several have rows')
    .option(
      '--header-row <N>',
      'of a workbook: the row of the sheet with the headers; default: the first row with the most known headers',
      wholeNumber('--header-row', 1, 1_048_576),
    )
    .option('--no-hidden', 'of a workbook: leave hidden rows and columns out')
    .option(
      '--no-currency-column',
      'of a workbook: add no column for the currencies that the formats of prices show',
    )
    .option(
      '--save-csv <NEW>',
      'of a workbook: write the CSV file that is made of it to NEW, which must not exist',
      (path) => resolve(callersFolder(env), path),
    );
}
