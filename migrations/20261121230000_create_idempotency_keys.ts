import type { Knex } from 'knex';

/** What a request with an `Idempotency-Key` was answered, for as long as it can be asked for again. */
export async function up(db: Knex): Promise<void> {
  await db.raw(`
    create table idempotency_keys (
      -- Of the API key: callers cannot meet each other's keys.
      api_key_digest bytea not null,
      idempotency_key text collate "C" not null,
      -- Of the request, its operation included.
      request_digest bytea not null,
      -- Of the 201. As json, and not jsonb, it is kept to the letter.
      response_body json not null,
      expires_at timestamptz not null,
      primary key (api_key_digest, idempotency_key),
      constraint idempotency_keys_digests_are_whole check (
        octet_length(api_key_digest) = 32 and octet_length(request_digest) = 32
      )
    );
    create index idempotency_keys_expires_at on idempotency_keys (expires_at);
  `);
}

/** Drops what `up` created: requests that are sent again are new ones then. */
export async function down(db: Knex): Promise<void> {
  await db.raw('drop table idempotency_keys');
}
