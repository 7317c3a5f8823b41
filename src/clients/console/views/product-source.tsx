import { useQuery } from '@tanstack/react-query';
import { bodyOf, client } from '../api';
import { FailureNotice } from '../parts/failure';
import { Card, Loading } from '../parts/page';
import { Value } from '../parts/value';
import { texts } from '../texts';

/** The record of the file from which a product's values come. */
export function Source({ productId }: { productId: string }) {
  const source = useQuery({
    queryKey: ['source', productId],
    queryFn: () =>
      bodyOf(client.GET('/products/{product_id}/source', { params: { path: { product_id: productId } } })),
  });
  return (
    <Card title={texts.product.source}>
      {source.error && <FailureNotice error={source.error} retry={() => void source.refetch()} />}
      {source.isPending && <Loading />}
      {source.data && (
        <>
          {source.data.record_text === null ? (
            <p className="muted">{texts.product.sourceGone}</p>
          ) : (
            <pre className="record" tabIndex={0}>
              <Value>{source.data.record_text}</Value>
            </pre>
          )}
          <p className="muted">
            {source.data.encoding && `${source.data.encoding} · `}
            {texts.product.digest}: <code className="digest">{source.data.file_sha256 ?? texts.none}</code>
          </p>
        </>
      )}
    </Card>
  );
}
