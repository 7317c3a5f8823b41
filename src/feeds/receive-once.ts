import type { Database } from '../db/database';
import { findAnswered, keepAnswer, type IdempotencyKey } from '../idempotency/idempotency.repository';
import { digestRequest, replay, whileClaimed, type Outcome } from '../idempotency/idempotency.service';
import {
  readUpload,
  receiveFeed,
  type FeedReceipt,
  type ReceiveContext,
  type ReceivedUpload,
} from './feeds.service';
import { drain, type FormPart } from './upload-form';

/** What receiving a feed at most once needs. */
export interface ReceiveOnceContext extends ReceiveContext {
  /** A pool of its own for keys: an upload holds a connection for as long as it takes. */
  claims: Database;
}

/**
 * Receives an upload, unless the same one was received before with this key. The key is claimed before anything is read,
 * so that a second upload need not be sent to learn that the first one goes on. The transaction that claims it has no
 * statement in progress meanwhile and holds no other lock; at the end the feed and the answer are written in it: a claim
 * that was lost on the way, with its connection, commits nothing.
 *
 * Whether an upload is the one that was answered shows at its end; nothing of it is stored then.
 * @param describe - gives the body of the response
 * @throws idempotent_request_in_progress, idempotency_key_used; whatever `receiveFeed` throws
 */
export async function receiveFeedOnce<T extends object>(
  parts: AsyncIterable<FormPart>,
  key: IdempotencyKey | undefined,
  context: ReceiveOnceContext,
  describe: (receipt: FeedReceipt) => T,
): Promise<Outcome<T>> {
  if (!key) return { responseBody: describe(await receiveFeed(parts, context)), replayed: false };
  return whileClaimed(context.claims, 'upload', key, async (trx) => {
    const answered = await findAnswered(context.db, key);
    if (answered) {
      const upload = await readUpload(parts, context, drain);
      return replay<T>(answered, digestUpload(upload));
    }
    const receipt = await receiveFeed(parts, context, {
      trx,
      keep: (upload, receipt) =>
        keepAnswer(trx, key, { requestDigest: digestUpload(upload), responseBody: describe(receipt) }),
    });
    return { responseBody: describe(receipt), replayed: false };
  });
}

function digestUpload({ partnerName, fileName, contentType, sha256 }: ReceivedUpload): Buffer {
  return digestRequest('uploadFeed', [partnerName, fileName, contentType, sha256.toString('hex')]);
}
