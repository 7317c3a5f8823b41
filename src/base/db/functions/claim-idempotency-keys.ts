import { tryLockOfKeySql } from '../locks';
import { raw } from '../sql';

/**
 * Claims the keys of orders, and finds stored responses, in one statement.
 * The keys are claimed by advisory locks of the transaction before the read: a volatile function sees what the last holder of a key
 * committed, but the calling statement does not. A response is text: parsed numbers would lose digits. The limit enforces a look-up
 * per key: a join would scan a table that was never analyzed.
 */
export const claimIdempotencyKeysSql = `
  create or replace function claim_idempotency_keys(locks bigint[], api_key_digests bytea[], keys text[])
    returns table (is_claimed boolean, request_digest bytea, response_text text)
    language plpgsql volatile
    set plan_cache_mode = force_generic_plan set enable_seqscan = off
  as $$
  declare
    claims boolean[];
  begin
    claims := array(
      select ${tryLockOfKeySql(raw('lock')).sql} from unnest(locks) with ordinality as given (lock, position) order by position
    );
    return query
      select given.is_claimed, stored.request_digest, stored.response_text
      from unnest(claims, api_key_digests, keys)
        with ordinality as given (is_claimed, api_key_digest, idempotency_key, position)
      left join lateral (
        select answer.request_digest, cast(answer.response_body as text) as response_text
        from idempotency_keys as answer
        where answer.api_key_digest = given.api_key_digest and answer.idempotency_key = given.idempotency_key
          and answer.expires_at > now()
        limit 1
      ) as stored on true
      order by position;
  end $$;
`;
