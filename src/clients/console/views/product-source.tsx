import { useQuery } from '@tanstack/react-query';
import { bodyOf, client } from '../api';
import { Card } from '../parts/page';
import { Query } from '../parts/query';
import { RecordSource } from '../parts/record-source';
import { texts } from '../texts';

/** The line of the file from which a product's values come. */
export function Source({ productId }: { productId: string }) {
  const source = useQuery({
    queryKey: ['product', productId, 'source'],
    queryFn: () =>
      bodyOf(client.GET('/products/{product_id}/source', { params: { path: { product_id: productId } } })),
  });
  return (
    <Card title={texts.source.ofValues}>
      <Query of={source}>{(data) => <RecordSource source={data} />}</Query>
    </Card>
  );
}
