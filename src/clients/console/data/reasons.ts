import { texts } from '../texts';

const codeOfFetch = /^[a-z_]+(?: \([^)]*\))?: /;

const withdrawals = /would withdraw (\d+) of (\d+) active products/;
const newerFeed = /A newer feed \((FD\d+)\) has been loaded since/;
const limitOfFeed = / that max_(?:skipped|price_jump)_percent allows/;

/**
 * Returns why a run failed or would fail, in words of the console where the service names parameters of a request.
 * @param message - the message of a plan, a job or a run
 */
export function reasonOf(message: string): string {
  const [, withdrawn, active] = withdrawals.exec(message) ?? [];
  if (active) return texts.reasons.withdraws(Number(withdrawn), Number(active));
  const [, newer] = newerFeed.exec(message) ?? [];
  if (newer) return texts.reasons.newer(newer);
  // The counts are shown as figures.
  const [reason] = message.replace('ETL processing failed: ', '').split(' Products processed: ');
  return reason!.replace(limitOfFeed, texts.reasons.limit);
}

/** Returns why a fetch failed: the sentence after the code for programs. */
export const fetchReasonOf = (reason: string): string => reason.replace(codeOfFetch, '');

/** Returns the name of a reason of row issues in words; the code if a newer service has others. */
export const issueName = (code: string): string => texts.issues.shortReasons[code] ?? code;
