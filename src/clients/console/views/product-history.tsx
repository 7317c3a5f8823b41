import { Link } from 'wouter';
import { bodyOf, client } from '../api';
import { usePages } from '../data/queries';
import { time } from '../locale';
import { FailureNotice } from '../parts/failure';
import { More } from '../parts/more';
import { Card, Loading } from '../parts/page';
import { Value } from '../parts/value';
import { addressOf } from '../routes';
import { texts } from '../texts';

/** The versions of a product as a time line, newest first. */
export function History({ productId }: { productId: string }) {
  const history = usePages(['history', productId], (cursor) =>
    bodyOf(
      client.GET('/products/{product_id}/history', {
        params: { path: { product_id: productId }, query: { cursor } },
      }),
    ),
  );
  const versions = history.data?.pages.flatMap(({ items }) => items) ?? [];
  return (
    <Card title={texts.product.history}>
      {history.isLoadingError && <FailureNotice error={history.error} retry={() => void history.refetch()} />}
      {history.isPending && <Loading />}
      <ol className="time-line">
        {versions.map(({ valid_from, feed_id, run, is_external, changes }) => (
          <li key={valid_from}>
            <time dateTime={valid_from}>{time(valid_from)}</time>{' '}
            {is_external ? (
              <span className="badge watch">{texts.product.manual}</span>
            ) : (
              <Link
                href={addressOf(
                  'feed',
                  run === null ? { feed: feed_id } : { feed: feed_id, step: 'runs', run },
                )}
              >
                {feed_id}
              </Link>
            )}
            <ul>
              {changes.map(({ field, before, after }) => (
                <li key={field}>
                  {texts.fields[field]}: <Value>{before}</Value> → <Value>{after}</Value>
                </li>
              ))}
              {changes.length === 0 && <li>{texts.product.created}</li>}
            </ul>
          </li>
        ))}
      </ol>
      <More list={history} />
    </Card>
  );
}
