import { Command, CommanderError, type ErrorOptions } from 'commander';

/** A wrong command line. The message has two lines: the error, and how to get help. */
export class UsageError extends Error {}

/** A command of commander that throws a `UsageError` instead of ending the process. */
export class CommandLine extends Command {
  constructor(name?: string) {
    super(name);
    this.exitOverride();
    this.allowExcessArguments(false);
    this.helpOption('-h, --help', 'show this help');
  }

  override createCommand(name?: string): CommandLine {
    return new CommandLine(name);
  }

  /** @throws UsageError */
  override error(message: string, options?: ErrorOptions): never {
    const problem = options?.code === 'commander.invalidArgument' ? reasonOf(message) : message;
    throw new UsageError(`${readable(problem)}\nHelp: ${this.fullName} --help`);
  }

  /**
   * Runs the command that the arguments name.
   * @returns the exit code if only help was shown, else undefined
   * @throws UsageError; errors of the command
   */
  async runWith(args: readonly string[]): Promise<number | undefined> {
    try {
      await this.parseAsync(args, { from: 'user' });
      return undefined;
    } catch (error) {
      // Help or version was shown; a group without a command shows its help as an error.
      if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : usageExitCode;
      throw error;
    }
  }

  private get fullName(): string {
    return this.parent instanceof CommandLine ? `${this.parent.fullName} ${this.name()}` : this.name();
  }
}

export const usageExitCode = 2;

/** Messages of commander, and their replacements. */
const wordings: [RegExp, string][] = [
  [/^required option '(.+)' not specified/, 'Missing option: $1'],
  [/^missing required argument '(.+)'/, 'Missing argument: $1'],
  [/^option '(.+)' argument missing/, 'Missing value: $1'],
  [/^option '(.+)' cannot be used with option '(.+)'/, 'Only one of $2 and $1 can be used'],
  [/^unknown option '(.+)'/, 'Unknown option: $1'],
  [/^unknown command '(.+)'/, 'Unknown command: $1'],
  [/^too many arguments.*$/, 'Too many arguments'],
];

/** Returns the message of the parser of an argument, without commander's prefix. */
function reasonOf(message: string): string {
  return message.slice(message.indexOf('. ', message.lastIndexOf("' is invalid")) + 2);
}

function readable(message: string): string {
  let text = message.replace(/^error: /, '');
  for (const [pattern, replacement] of wordings) text = text.replace(pattern, replacement);
  const [problem = '', ...suggestion] = text.split('\n');
  return [problem.replaceAll(/[<>]/g, '').replace(/\.?$/, '.'), ...suggestion].join(' ');
}
