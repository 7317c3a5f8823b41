import { Fragment } from 'react';
import type { Schemas } from '../api';
import { texts } from '../texts';

/** Properties of a file in one line, by an inspection. */
export function FileFacts({ inspection }: { inspection: Schemas['FeedInspection'] }) {
  const { detected_encoding, delimiter, decimal_separator, skip_lines, row_count, complete, known_skus } =
    inspection;
  const { factOf, encodings, knownSkus, rows } = texts.check;
  const facts = [
    delimiter && rows(row_count, complete),
    known_skus && known_skus.checked > 0 && knownSkus(known_skus.known, known_skus.checked),
    delimiter && factOf.delimiter[delimiter],
    decimal_separator && factOf.decimal[decimal_separator],
    skip_lines > 0 && factOf.skipped(skip_lines),
    detected_encoding !== 'unknown' && (encodings[detected_encoding] ?? detected_encoding),
  ].filter(Boolean);
  if (facts.length === 0) return null;
  return (
    <p className="fact-line muted">
      {facts.map((fact, at) => (
        <Fragment key={at}>
          {at > 0 && ' · '}
          <span className="whole">{fact}</span>
        </Fragment>
      ))}
    </p>
  );
}
