/** Returns SQL that makes a function find its tables in its own schema, for every caller. */
export const inThisSchema = (signature: string) =>
  `do $$ begin execute format('alter function ${signature} set search_path = %I, pg_temp', current_schema()); end $$;`;
