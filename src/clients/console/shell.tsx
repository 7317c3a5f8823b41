import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { Link, Route, Switch, useLocation, useSearch } from 'wouter';
import { root } from './api';
import { removeDraft } from './data/draft';
import { useSeesAllPartners } from './data/queries';
import type { SourcePath } from './data/sources';
import { Action } from './parts/action';
import { Boundary } from './parts/boundary';
import { keepFocus } from './parts/keep-focus';
import { PageView } from './parts/page';
import { signOut, useApiKey } from './session';
import { routes } from './routes';
import { texts } from './texts';
import { CatalogView } from './views/catalog';
import { CheckView } from './views/check';
import { FeedView } from './views/feed';
import { FeedsView } from './views/feeds';
import { FormatView } from './views/format';
import { HomeView } from './views/home';
import { OrdersView } from './views/orders';
import { PartnerView, PartnersView } from './views/partners';
import { ProductView } from './views/product';
import { QueueView } from './views/queue';
import { SalesView } from './views/sales';
import { SendView } from './views/send';
import { SignInView } from './views/sign-in';
import { SourceView } from './views/source';
import { EditSourceView, NewSourceView } from './views/source-form';
import { SourceTestView } from './views/source-test';
import { SourcesView } from './views/sources';
import { DeliveriesView, WebhooksView } from './views/webhooks';
import { WorkbookView } from './views/workbook';

const links = [
  [routes.home, texts.nav.home],
  [routes.send, texts.nav.send],
  [routes.feeds, texts.nav.feeds],
  [routes.partners, texts.nav.partners],
  [routes.sources, texts.nav.sources],
  [routes.catalog, texts.nav.catalog],
  [routes.orders, texts.nav.orders],
  [routes.sales, texts.nav.sales],
  [routes.webhooks, texts.nav.webhooks],
] as const;
/** Links for keys that are not limited to a partner. */
const linksOfAll = [[routes.queue, texts.nav.queue]] as const;

/** The frame of every view: navigation, and the view of the address. */
export function Shell() {
  const key = useApiKey();
  const queries = useQueryClient();
  useEffect(() => {
    if (!key) queries.clear();
  }, [key, queries]);
  useEffect(keepFocus, []);
  if (!key) return <SignInView />;
  return (
    <>
      <a className="skip" href="#content">
        {texts.skip}
      </a>
      <Header />
      <main id="content" tabIndex={-1}>
        <Views />
      </main>
    </>
  );
}

function Header() {
  const [path] = useLocation();
  const shown = useSeesAllPartners() ? [...links, ...linksOfAll] : links;
  const nav = useRef<HTMLElement>(null);
  // On a phone, the links are wider than the screen.
  useEffect(() => {
    nav.current
      ?.querySelector('[aria-current]')
      ?.scrollIntoView({ block: 'nearest', inline: 'center', behavior: 'instant' });
  }, [path, shown.length]);
  // Sources are below partners, as in the API.
  const place = path.replace(/^\/partners\/[^/]+(?=\/sources\/)/, '');
  const isCurrent = (to: string) =>
    to === routes.home ? path === to : place === to || place.startsWith(`${to}/`);
  return (
    <header className="bar">
      <Link href={routes.home} className="brand">
        {texts.name}
      </Link>
      <nav ref={nav} aria-label={texts.nav.label}>
        {shown.map(([to, text]) => (
          <Link key={to} href={to} aria-current={isCurrent(to) ? 'page' : undefined}>
            {text}
          </Link>
        ))}
      </nav>
      <span className="bar-end">
        <a href={new URL('docs', root).href}>{texts.nav.docs}</a>
        <Action
          onPress={() => {
            void removeDraft();
            signOut();
          }}
        >
          {texts.nav.signOut}
        </Action>
      </span>
    </header>
  );
}

/** The view of the address, with decoded parameters. */
function Views() {
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
        <Route path={routes.sales} component={SalesView} />
        <Route path={routes.queue} component={QueueView} />
        <Route path={routes.webhooks} component={WebhooksView} />
        <Route path={routes.webhook}>{({ webhook }) => <DeliveriesView webhookId={webhook} />}</Route>
        <Route>
          <PageView title={texts.failure.unknownView}>
            <p>{texts.failure.unknownViewWay}</p>
            <Link href={routes.home} className="button">
              {texts.nav.home}
            </Link>
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
