import { useQuery } from '@tanstack/react-query';
import type { ComponentType } from 'react';
import { Link, Route, Switch, useLocation, useSearch } from 'wouter';
import { loadCode } from './data/release';
import type { SourcePath } from './data/sources';
import { Boundary } from './parts/boundary';
import { Loading, PageView } from './parts/page';
import { routes } from './routes';
import { texts } from './texts';

let views = 0;

/** Makes a view whose code is loaded when it is first shown. React's own way shows it 300 ms after its fallback at the earliest. */
function loaded<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  const code = {
    queryKey: ['code', views++],
    queryFn: async () => ({ View: await loadCode(load) }),
    staleTime: Infinity,
    gcTime: Infinity,
    retry: false,
    networkMode: 'always',
    throwOnError: true,
  } as const;
  return function Loaded(props: Props) {
    const { data } = useQuery(code);
    return data ? <data.View {...props} /> : <Loading />;
  };
}

const HomeView = loaded(async () => (await import('./views/home')).HomeView);
const SendView = loaded(async () => (await import('./views/send')).SendView);
const WorkbookView = loaded(async () => (await import('./views/workbook')).WorkbookView);
const CheckView = loaded(async () => (await import('./views/check')).CheckView);
const FeedsView = loaded(async () => (await import('./views/feeds')).FeedsView);
const FeedView = loaded(async () => (await import('./views/feed')).FeedView);
const PartnersView = loaded(async () => (await import('./views/partners')).PartnersView);
const PartnerView = loaded(async () => (await import('./views/partner')).PartnerView);
const PartnerPlaceView = loaded(async () => (await import('./views/partner-place')).PartnerPlaceView);
const SkippedView = loaded(async () => (await import('./views/skipped')).SkippedView);
const FormatView = loaded(async () => (await import('./views/format')).FormatView);
const SourcesView = loaded(async () => (await import('./views/sources')).SourcesView);
const NewSourceView = loaded(async () => (await import('./views/source-form')).NewSourceView);
const EditSourceView = loaded(async () => (await import('./views/source-form')).EditSourceView);
const SourceTestView = loaded(async () => (await import('./views/source-test')).SourceTestView);
const SourceView = loaded(async () => (await import('./views/source')).SourceView);
const CatalogView = loaded(async () => (await import('./views/catalog')).CatalogView);
const ProductView = loaded(async () => (await import('./views/product')).ProductView);
const OrdersView = loaded(async () => (await import('./views/orders')).OrdersView);
const OrderView = loaded(async () => (await import('./views/order')).OrderView);
const SalesView = loaded(async () => (await import('./views/sales')).SalesView);
const QueueView = loaded(async () => (await import('./views/queue')).QueueView);
const WebhooksView = loaded(async () => (await import('./views/webhooks')).WebhooksView);
const WebhookView = loaded(async () => (await import('./views/webhook')).WebhookView);

/** The view of the address, with decoded parameters. */
export function Views() {
  const [path] = useLocation();
  const search = useSearch();
  return (
    <Boundary address={`${path}?${search}`}>
      <Switch>
        <Route path={routes.home} component={HomeView} />
        <Route path={routes.send} component={SendView} />
        <Route path={routes.workbook} component={WorkbookView} />
        <Route path={routes.check} component={CheckView} />
        <Route path={routes.feeds} component={FeedsView} />
        <Route<{ feed: string; step?: string; run?: string }> path={routes.feed}>
          {({ feed, step, run }) => <FeedView feedId={feed} step={step} run={run} />}
        </Route>
        <Route path={routes.partners} component={PartnersView} />
        <Route path={routes.partner}>{({ partner }) => <PartnerView name={partner} />}</Route>
        <Route path={routes.partnerPlace}>
          {({ partner, place }) => <PartnerPlaceView partner={partner} place={place} />}
        </Route>
        <Route path={routes.skipped} component={SkippedView} />
        <Route path={routes.format}>
          {({ partner, format }) => <FormatView partner={partner} name={format} />}
        </Route>
        <Route path={routes.sources} component={SourcesView} />
        <Route path={routes.newSource} component={NewSourceView} />
        <Route path={routes.source}>
          {({ partner, source, view }) => (
            <SourceRoute path={{ partner_name: partner, source_name: source }} view={view} />
          )}
        </Route>
        <Route path={routes.catalog} component={CatalogView} />
        <Route path={routes.product}>{({ product }) => <ProductView productId={product} />}</Route>
        <Route path={routes.orders} component={OrdersView} />
        <Route path={routes.order}>{({ order }) => <OrderView orderId={order} />}</Route>
        <Route path={routes.sales} component={SalesView} />
        <Route path={routes.queue} component={QueueView} />
        <Route path={routes.webhooks} component={WebhooksView} />
        <Route path={routes.webhook}>{({ webhook }) => <WebhookView webhookId={webhook} />}</Route>
        <Route>
          <PageView title={texts.failure.unknownView}>
            <p>{texts.failure.unknownViewWay}</p>
            <p>
              <Link href={routes.home} className="button">
                {texts.nav.home}
              </Link>
            </p>
          </PageView>
        </Route>
      </Switch>
    </Boundary>
  );
}

function SourceRoute({ path, view }: { path: SourcePath; view?: string }) {
  const View = view === 'edit' ? EditSourceView : view === 'test' ? SourceTestView : SourceView;
  return <View path={path} />;
}
