import type { Database } from '../db/database';
import { idempotentRequestInProgress } from '../shared/errors';
import {
  findAnswered,
  isUnclaimed,
  keepAnswer,
  type IdempotencyKey,
} from '../idempotency/idempotency.repository';
import { digestRequest, replay, whileClaimed, type Outcome } from '../idempotency/idempotency.service';
import {
  readUpload,
  receiveFeed,
  type FeedReceipt,
  type ReceiveContext,
  type ReceivedUpload,
} from './feeds.service';
import { admitUpload, requireRoom, type IncomingUpload, type UploadAdmission } from './incoming-upload';
import type { MultipartBody } from '../http/multipart';
import { drain } from './upload-form';

/** What receiving a feed at most once needs. */
export interface ReceiveOnceContext extends ReceiveContext, UploadAdmission {
  /** A pool of its own for keys: an upload holds a connection for as long as it takes. */
  claims: Database;
}

/**
 * Receives an upload, unless the same one was received before with this key. An upload without a chance of a permit, or
 * with a key that is claimed, is refused before anything of it is read; the key is claimed when its file begins.
 *
 * The transaction that claims it has no statement in progress meanwhile and holds no other lock; at the end the feed and
 * the response are written in it: a claim that was lost on the way, with its connection, commits nothing. Whether an
 * upload is the one that was received before shows at its end; nothing of it is stored then.
 * @param describe - gives the body of the response
 * @throws idempotent_request_in_progress, idempotency_key_used; whatever `admitUpload` and `receiveFeed` throw
 */
export async function receiveFeedOnce<T extends object>(
  body: MultipartBody,
  key: IdempotencyKey | undefined,
  context: ReceiveOnceContext,
  describe: (receipt: FeedReceipt) => T,
): Promise<Outcome<T>> {
  requireRoom(context);
  if (key && !(await isUnclaimed(context.db, key))) throw idempotentRequestInProgress();
  return admitUpload(body, context, async (upload) =>
    key
      ? receiveWithKey(upload, key, context, describe)
      : { responseBody: describe(await receiveFeed(upload, context)), replayed: false },
  );
}

function receiveWithKey<T extends object>(
  upload: IncomingUpload,
  key: IdempotencyKey,
  context: ReceiveOnceContext,
  describe: (receipt: FeedReceipt) => T,
): Promise<Outcome<T>> {
  return whileClaimed(context.claims, 'upload', key, async (trx) => {
    const answered = await findAnswered(context.db, key);
    if (answered) {
      const received = await readUpload(upload, context.uploadBytesMax, drain);
      return replay<T>(answered, digestUpload(received));
    }
    const receipt = await receiveFeed(upload, context, {
      trx,
      keep: (received, receipt) =>
        keepAnswer(trx, key, { requestDigest: digestUpload(received), responseBody: describe(receipt) }),
    });
    return { responseBody: describe(receipt), replayed: false };
  });
}

function digestUpload({ partnerName, fileName, contentType, sha256 }: ReceivedUpload): Buffer {
  return digestRequest('uploadFeed', [partnerName, fileName, contentType, sha256.toString('hex')]);
}
