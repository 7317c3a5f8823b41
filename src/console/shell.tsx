import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { Link, Route, Switch, useLocation } from 'wouter';
import { root } from './api';
import { removeDraft } from './data/draft';
import { useSeesAllPartners } from './data/queries';
import { Action } from './parts/action';
import { Page } from './parts/page';
import { signOut, useApiKey } from './session';
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

const links = [
  ['/', texts.nav.home],
  ['/send', texts.nav.send],
  ['/feeds', texts.nav.feeds],
  ['/partners', texts.nav.partners],
  ['/sources', texts.nav.sources],
  ['/catalog', texts.nav.catalog],
  ['/orders', texts.nav.orders],
  ['/sales', texts.nav.sales],
  ['/webhooks', texts.nav.webhooks],
] as const;
/** For keys that are not limited to a partner. */
const linksOfAll = [['/queue', texts.nav.queue]] as const;

/** The frame of every view: navigation, and the view of the address. */
export function Shell() {
  const key = useApiKey();
  const queries = useQueryClient();
  useEffect(() => {
    if (!key) queries.clear();
  }, [key, queries]);
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
  const isCurrent = (to: string) => (to === '/' ? path === '/' : place === to || place.startsWith(`${to}/`));
  return (
    <header className="bar">
      <Link href="/" className="brand">
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

function Views() {
  return (
    <Switch>
      <Route path="/" component={HomeView} />
      <Route path="/send" component={SendView} />
      <Route path="/send/check" component={CheckView} />
      <Route path="/feeds" component={FeedsView} />
      <Route<{ feedId: string; step?: string; run?: string }> path="/feeds/:feedId/:step?/:run?">
        {({ feedId, step, run }) => <FeedView feedId={feedId} step={step} run={run} />}
      </Route>
      <Route path="/partners" component={PartnersView} />
      <Route path="/partners/:name">{({ name }) => <PartnerView name={decodeURIComponent(name)} />}</Route>
      <Route path="/partners/:name/formats/:format">
        {({ name, format }) => <FormatView partner={decodeURIComponent(name)} name={format} />}
      </Route>
      <Route path="/sources" component={SourcesView} />
      <Route path="/sources/new" component={NewSourceView} />
      <Route<{ name: string; source: string; view?: string }> path="/partners/:name/sources/:source/:view?">
        {({ name, source, view }) => <SourceRoute partner={name} source={source} view={view} />}
      </Route>
      <Route path="/catalog" component={CatalogView} />
      <Route path="/products/:productId">{({ productId }) => <ProductView productId={productId} />}</Route>
      <Route path="/orders" component={OrdersView} />
      <Route path="/sales" component={SalesView} />
      <Route path="/queue" component={QueueView} />
      <Route path="/webhooks" component={WebhooksView} />
      <Route path="/webhooks/:webhookId">{({ webhookId }) => <DeliveriesView webhookId={webhookId} />}</Route>
      <Route>
        <Page title={texts.failure.unknownView}>
          <p>{texts.failure.unknownViewWay}</p>
          <Link href="/" className="button">
            {texts.nav.home}
          </Link>
        </Page>
      </Route>
    </Switch>
  );
}

function SourceRoute({ partner, source, view }: { partner: string; source: string; view?: string }) {
  const path = { partner_name: decodeURIComponent(partner), source_name: source };
  const View = view === 'edit' ? EditSourceView : view === 'test' ? SourceTestView : SourceView;
  return <View path={path} />;
}
