import type { Schemas } from '../api';
import type { Draft } from '../data/draft';
import { Facts } from '../parts/facts';
import { Card } from '../parts/page';
import { Value } from '../parts/value';
import { texts } from '../texts';

interface Options {
  draft: Draft;
  inspection: Schemas['FeedInspection'];
}

/** Properties of the file, by the chosen reading. */
export function FileFacts({ draft, inspection }: Options) {
  const { detected_encoding, delimiter, decimal_separator, skip_lines, row_count, complete, known_skus } =
    inspection;
  return (
    <Card>
      <Facts
        facts={[
          [texts.send.partner, <Value>{draft.partner}</Value>],
          [texts.feed.file, <Value>{draft.file.name}</Value>],
          [texts.check.encoding, detected_encoding],
          [texts.check.delimiter, delimiter && (texts.check.delimiters[delimiter] ?? delimiter)],
          [texts.check.decimal, decimal_separator && texts.check.decimals[decimal_separator]],
          [texts.check.skipped, skip_lines > 0 && String(skip_lines)],
          [texts.counts.processed!, texts.check.rows(row_count, complete)],
          [texts.check.skus, known_skus && texts.check.knownSkus(known_skus.known, known_skus.checked)],
        ]}
      />
    </Card>
  );
}
