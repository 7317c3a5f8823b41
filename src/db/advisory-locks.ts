/**
 * The kinds of advisory locks, each with the low byte of its keys. A kind keeps its byte once it is released: processes of two
 * releases exclude each other during an upgrade. Release 1.2.0 has `run`, `idempotencyKey` and `migration`; functions of
 * the schema have `partner` and `withdrawals`.
 */
export const lockKinds = {
  /** Claim of a run, by job. */
  run: 1,
  /** Request with an `Idempotency-Key`, by the hash of the key. */
  idempotencyKey: 2,
  /** Changes of the products of a partner. */
  partner: 3,
  /** Orders (shared) and withdrawals of the products of a partner. */
  withdrawals: 4,
  /** History of a partner. */
  history: 5,
  /** Reservation of a job for the process that repeats its run. */
  reservation: 6,
  /** Indexing of the products of a partner for the search. */
  searchIndex: 7,
  /** Check for stale partners. */
  stalePartners: 8,
  /** Reasons for which a partner needs attention. */
  attention: 9,
  /** Formats that are stored for a partner. */
  formats: 10,
  /** Migration of the schema. */
  migration: 0x74,
};

/** Returns the SQL of the key of an advisory lock. @param number - SQL of a bigint of at most 55 bits */
export const lockKey = (kind: keyof typeof lockKinds, number: string) =>
  `(${number} << 8) | ${lockKinds[kind]}`;
