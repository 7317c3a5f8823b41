import { SingleBar } from 'cli-progress';
import { byteText } from './printable';

interface Stage {
  /** A word, as "uploading"; another one begins a new stage. */
  name: string;
  bytes?: { done: number; total: number | undefined };
  detail?: string;
}

const lineMilliseconds = 10_000;
/** Minimum time before a throughput is shown: an earlier one would be meaningless. */
const steadyMilliseconds = 2_000;

/** Shows progress on standard error: a bar in a terminal, elsewhere a line for each stage and every ten seconds. */
export class ProgressView {
  private bar: SingleBar | undefined;
  private stage: Stage | undefined;
  private startedAt = 0;
  /** Not 0 when the command joins a run in progress. */
  private bytesAtStart = 0;
  private lineAt = 0;
  private readonly isTerminal: boolean;

  constructor(private readonly stream: NodeJS.WritableStream & { isTTY?: boolean }) {
    this.isTerminal = stream.isTTY === true && process.env.TERM !== 'dumb';
  }

  show(stage: Stage): void {
    const isNew = stage.name !== this.stage?.name;
    if (isNew) {
      this.clear();
      this.startedAt = performance.now();
      this.bytesAtStart = stage.bytes?.done ?? 0;
    }
    this.stage = stage;
    if (this.isTerminal) this.draw(stage);
    else if (isNew || performance.now() - this.lineAt >= lineMilliseconds) this.writeLine(stage);
  }

  /** Writes a line above the bar. */
  note(text: string): void {
    this.clear();
    this.stream.write(`${text}\n`);
  }

  /** Removes the bar and restores the terminal. Safe to call again. */
  clear(): void {
    this.bar?.stop();
    this.bar = undefined;
    this.stage = undefined;
  }

  private draw({ name, bytes, detail }: Stage): void {
    const total = bytes?.total;
    const payload = { name, text: this.textOf({ name, bytes, detail }) };
    if (!this.bar) {
      this.bar = new SingleBar({
        stream: this.stream,
        format: total ? '{name} [{bar}] {percentage}% {text}' : '{name} ({duration_formatted}) {text}',
        barsize: 20,
        barCompleteChar: '=',
        barIncompleteChar: ' ',
        hideCursor: true,
        linewrap: false,
        clearOnComplete: true,
        // The command handles signals, and clears the bar.
        gracefulExit: false,
      });
      this.bar.start(total ?? 1, 0, payload);
    }
    this.bar.update(total ? Math.min(bytes.done, total) : 0, payload);
  }

  private writeLine(stage: Stage): void {
    this.lineAt = performance.now();
    const { name, bytes } = stage;
    const percentage = bytes?.total ? `${Math.floor((bytes.done / bytes.total) * 100)}% ` : '';
    const text = `${percentage}${this.textOf(stage)}`;
    this.stream.write(text ? `${name}: ${text}\n` : `${name}\n`);
  }

  private textOf({ bytes, detail }: Stage): string {
    const parts: string[] = [];
    if (bytes) {
      const { done, total } = bytes;
      parts.push(total === undefined ? byteText(done) : `${byteText(done)} of ${byteText(total)}`);
      const elapsed = performance.now() - this.startedAt;
      const perSecond = ((done - this.bytesAtStart) / elapsed) * 1000;
      if (elapsed > steadyMilliseconds && perSecond > 0) {
        parts.push(`${byteText(Math.round(perSecond))}/s`);
        if (total !== undefined) parts.push(`${Math.ceil(Math.max(total - done, 0) / perSecond)} s left`);
      }
    }
    if (detail) parts.push(detail);
    return parts.join(', ');
  }
}
