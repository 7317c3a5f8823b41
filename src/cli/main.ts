#!/usr/bin/env node
import { constants } from 'node:os';
import { parseCommand, usage, type Command } from './arguments';
import { exitCodes, Failure } from './failures';
import { openFeedFile } from './feed-file';
import { cancelJob, followRun, listIssues, runJob, type Job } from './jobs';
import { printable, printableJson } from './printable';
import { ProgressView } from './progress-view';
import { issuesReport, jobReport } from './report';
import { Service } from './service';
import { uploadFeed, type Receipt } from './upload';

type ServiceCommand = Exclude<Command, { name: 'help' }>;

/** The command `npm run feed`: uploads feeds to a service, runs and follows their jobs. @returns the exit code */
async function main(view: ProgressView): Promise<number> {
  const command = parseCommand(process.argv.slice(2), process.env);
  if (command.name === 'help') {
    process.stdout.write(usage);
    return exitCodes.done;
  }
  const service = new Service(command.address, endOf(command), (text) => view.note(text));
  switch (command.name) {
    case 'upload': {
      const receipt = await upload(service, command, view);
      if (!command.run) return tellReceipt(command, receipt);
      const { validation_job_id: jobId } = receipt;
      return tellJob(service, command, await goingOn(jobId, runJob(service, jobId, view)), view);
    }
    case 'follow': {
      const { jobId } = command;
      return tellJob(service, command, await goingOn(jobId, followRun(service, jobId, view)), view);
    }
    case 'cancel': {
      const { jobId } = command;
      const job = await goingOn(jobId, cancelJob(service, jobId, view));
      view.clear();
      process.stdout.write(command.json ? `${printableJson(job)}\n` : jobReport(job));
      return job.status === 'failed' ? exitCodes.done : exitCodes.refused;
    }
  }
}

/** What ends the command early: signals, and `--timeout`. Its reason is the `Failure` to end with. */
function endOf({ timeoutSeconds }: ServiceCommand): AbortSignal {
  const end = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => end.abort(new Failure(128 + constants.signals[signal], 'Interrupted.')));
  }
  if (timeoutSeconds !== undefined) {
    const reason = new Failure(exitCodes.timedOut, `Not done within ${timeoutSeconds} s.`);
    setTimeout(() => end.abort(reason), timeoutSeconds * 1000).unref();
  }
  return end.signal;
}

async function upload(
  service: Service,
  { file: path, partnerName }: ServiceCommand & { name: 'upload' },
  view: ProgressView,
): Promise<Receipt> {
  const file = await openFeedFile(path);
  try {
    const receipt = await withHint('Nothing was run.', uploadFeed(service, file, partnerName, view));
    const { feed_id, validation_job_id, duplicate_of } = receipt;
    const earlier = duplicate_of ? ` The same file was uploaded before, as feed ${duplicate_of}.` : '';
    view.note(printable(`Stored as feed ${feed_id}, with job ${validation_job_id}.${earlier}`));
    return receipt;
  } finally {
    await file.close();
  }
}

function goingOn<T>(jobId: string, work: Promise<T>): Promise<T> {
  const id = printable(jobId);
  return withHint(
    `A run that has been asked for goes on. npm run --silent feed -- follow ${id} (or cancel ${id})`,
    work,
  );
}

/** Says what is left to be done where the service has not had the last word. */
async function withHint<T>(hint: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const isFinal =
      !(error instanceof Failure) ||
      [exitCodes.refused, exitCodes.usage].some((code) => code === error.exitCode);
    throw isFinal ? error : new Failure(error.exitCode, `${error.message}\n${hint}`);
  }
}

function tellReceipt({ json }: ServiceCommand, receipt: Receipt): number {
  const { feed_id, validation_job_id } = receipt;
  const text = `Feed ${feed_id} is stored, and not loaded: run job ${validation_job_id} for that.`;
  process.stdout.write(`${json ? printableJson(receipt) : printable(text)}\n`);
  return exitCodes.done;
}

async function tellJob(
  service: Service,
  { json, strict, issuesShown }: ServiceCommand,
  job: Job,
  view: ProgressView,
): Promise<number> {
  view.clear();
  process.stdout.write(json ? `${printableJson(job)}\n` : jobReport(job));
  if (!json && job.issue_counts.length > 0) {
    const issues = await firstIssues(service, job.job_id, issuesShown, view);
    const url = (path: string) => service.urlOf(`/jobs/${encodeURIComponent(job.job_id)}/${path}`).href;
    process.stdout.write(issuesReport(job, issues, url, process.stdout.isTTY ? process.stdout.columns : 120));
  }
  if (job.status !== 'completed') return exitCodes.refused;
  return strict && (job.summary?.skipped ?? 0) > 0 ? exitCodes.rowsSkipped : exitCodes.done;
}

/** How the run ended is known, and stands, whatever becomes of this. */
async function firstIssues(service: Service, jobId: string, count: number, view: ProgressView) {
  if (count === 0) return [];
  return listIssues(service, jobId, count).catch((error: unknown) => {
    view.note((error as Error).message);
    return [];
  });
}

// Whoever reads only the beginning of what is printed closes the pipe.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});
const view = new ProgressView(process.stderr);
void main(view)
  .catch((error: unknown) => {
    view.note((error as Error).message);
    return error instanceof Failure ? error.exitCode : exitCodes.refused;
  })
  .then((exitCode) => (process.exitCode = exitCode));
