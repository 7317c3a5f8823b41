/** Returns the SQL that makes a function find its tables in the schema in which it is created, for every caller. */
export const inThisSchema = (signature: string) =>
  `do $$ begin execute format('alter function ${signature} set search_path = %I, pg_temp', current_schema()); end $$;`;
