import { databaseTime, type Database } from '../../base/db/database';
import { inTransaction } from '../../base/db/transaction';
import { findUploadFormat } from '../../catalog/formats/find-format';
import { defaulted, type OperationsOf } from '../../http/contract/contract';
import { parsePosition } from '../../runs/jobs/jobs.service';
import { parsePartnerName, partnerNameFaults } from '../../catalog/partners/partner-name';
import { requireKeyInUse } from '../../http/keys/keys.repository';
import { keepAttention, onePartner } from '../../catalog/partners/keep-attention';
import { getOrInsertPartner, getPartnerId } from '../../catalog/partners/partners.repository';
import { storedPartnerName } from '../../catalog/partners/stored-partner-name';
import { requesterName, requirePartner, type PartnerScope } from '../../base/caller';
import { invalidCursor, invalidShape, sourceNotFound, tooManySources } from '../../base/errors';
import { toListBody, toPage } from '../../base/pagination';
import type { SecretBox } from '../../base/secret-box';
import { listFetches, requestFetch } from './fetches.repository';
import { nextSlotOf } from './scheduler';
import { sourceFaults, type SourceDefinition } from './source-definition';
import { sealDefinition } from './source-secrets';
import { fetchBody, sourceBody } from './sources.body';
import {
  deleteSource,
  findSource,
  keepFormat,
  listSources,
  lockSource,
  sourcesMax,
  upsertSource,
  type SourcePosition,
  type SourceRow,
} from './sources.repository';

type SourceHandlers = OperationsOf<
  'listSources' | 'getSource' | 'replaceSource' | 'deleteSource' | 'fetchSource' | 'listSourceFetches'
>;

/** Greater than the number of any fetch. */
const noFetch = 2 ** 31 - 1;

/** The operations on sources. @param secretBox - absent: no source can have secrets */
export function sourceOperations(db: Database, secretBox: SecretBox | undefined): SourceHandlers {
  return {
    listSources: {
      /** A cursor is a position: any text with a slash that names can contain. */
      check({ query: { cursor } }) {
        if (cursor !== undefined && (typeof cursor !== 'string' || cursor.includes('\0')))
          throw invalidCursor();
      },
      async handle({ query, caller, reply }) {
        const limit = defaulted(query.limit);
        const rows = await listSources(db, {
          scope: caller.partnerName,
          partnerName: query.partner_name && (await storedPartnerName(db, query.partner_name)),
          after: positionOf(query.cursor),
          limit,
        });
        const page = toPage(rows, limit, (last) => `${last.source_name}/${last.partner_name}`);
        return reply(200, toListBody(page, sourceBody));
      },
    },

    getSource: {
      async handle({ path, caller, reply }) {
        return reply(200, sourceBody(await getSource(db, path, caller.partnerName)));
      },
    },

    replaceSource: {
      /** Checks the partner's name, and the rules of a definition that no schema can express. */
      rule: ({ path, body }) => [...partnerNameFaults(path.partner_name), ...sourceFaults(body)],
      async handle({ path, body, caller, reply }) {
        // The rule has checked it.
        const partnerName = await storedPartnerName(db, parsePartnerName(path.partner_name) as string);
        requirePartner(caller.partnerName, partnerName);
        await requireFormat(db, partnerName, body);
        const source = await inTransaction(db, 'request', async (trx) => {
          const partnerId = await getOrInsertPartner(trx, partnerName);
          await requireKeyInUse(trx, caller);
          const sourceName = path.source_name;
          const stored = await lockSource(trx, partnerId, sourceName);
          if (body.format) await keepFormat(trx, partnerId, body.format);
          const sealed = sealDefinition(body, stored, secretBox);
          const nextSlotAt = nextSlotOf(sealed.definition, await databaseTime(trx));
          const isStored = await upsertSource(trx, { partnerId, sourceName, ...sealed, nextSlotAt });
          if (!isStored) throw tooManySources(partnerName, sourcesMax);
          await keepAttention(trx, onePartner(partnerId));
          return findSource(trx, partnerId, sourceName);
        });
        return reply(200, sourceBody(source!));
      },
    },

    deleteSource: {
      async handle({ path, caller, reply }) {
        const source = await getSource(db, path, caller.partnerName);
        await deleteSource(db, source.source_id);
        return reply(200, sourceBody(source));
      },
    },

    fetchSource: {
      async handle({ path, caller, reply }) {
        const source = await getSource(db, path, caller.partnerName);
        const request = { requestedBy: requesterName(caller), scope: caller.partnerName };
        const fetch = await requestFetch(db, source.source_id, request);
        if (!fetch) throw sourceNotFound();
        const segments = ['partners', source.partner_name, 'sources', source.source_name, 'fetches'];
        return reply(202, fetchBody(fetch), { Location: `/${segments.map(encodeURIComponent).join('/')}` });
      },
    },

    listSourceFetches: {
      check({ query }) {
        parsePosition(query.cursor);
      },
      async handle({ path, query, caller, reply }) {
        const limit = defaulted(query.limit);
        const source = await getSource(db, path, caller.partnerName);
        const beforeFetch = parsePosition(query.cursor) || noFetch;
        const rows = await listFetches(db, source.source_id, caller.partnerName, {
          beforeFetch,
          limit: limit + 1,
        });
        const page = toPage(rows, limit, ({ fetch_number }) => String(fetch_number));
        return reply(200, toListBody(page, fetchBody));
      },
    },
  };
}

/** @throws partner_not_found, source_not_found */
async function getSource(
  db: Database,
  { partner_name: partnerName, source_name: sourceName }: { partner_name: string; source_name: string },
  scope: PartnerScope,
): Promise<SourceRow> {
  const source = await findSource(db, await getPartnerId(db, partnerName, scope), sourceName);
  if (!source) throw sourceNotFound();
  return source;
}

/** @throws validation_error if the definition names a format that the partner does not have, or that lacks a column */
async function requireFormat(
  db: Database,
  partnerName: string,
  { format: formatName, mode = 'upsert' }: SourceDefinition,
): Promise<void> {
  if (!formatName) return;
  const found = await findUploadFormat(db, partnerName, { formatName, mode });
  if ('error' in found) throw invalidShape([found.error]);
}

/** Parses a cursor: `source/partner`. No name of a source contains a slash. */
function positionOf(cursor: string | undefined): SourcePosition | undefined {
  if (cursor === undefined) return undefined;
  const slash = cursor.indexOf('/');
  return {
    sourceName: slash < 0 ? cursor : cursor.slice(0, slash),
    partnerName: slash < 0 ? '' : cursor.slice(slash + 1),
  };
}
