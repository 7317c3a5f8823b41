import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { root } from './api';
import { removeDraft } from './data/draft';
import { useSeesAllPartners } from './data/queries';
import { keepFocus } from './parts/keep-focus';
import { listenForSearch } from './parts/search-key';
import { routes } from './routes';
import { signOut, useApiKey } from './session';
import { texts } from './texts';
import { Views } from './views';
import { SignInView } from './views/sign-in';

const groups = [
  ['home', 'send'],
  ['partners', 'feeds', 'sources'],
  ['catalog', 'orders', 'sales'],
  ['webhooks', 'queue'],
] as const;

type Place = (typeof groups)[number][number];

/** Places for keys that are not limited to a partner. */
const placesOfAll: readonly Place[] = ['queue'];

/** The frame of every view: navigation, and the view of the address. */
export function Shell() {
  const key = useApiKey();
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  useEffect(() => {
    if (!key) queries.clear();
  }, [key, queries]);
  useEffect(keepFocus, []);
  useEffect(() => (key ? listenForSearch(() => navigate(routes.catalog)) : undefined), [key, navigate]);
  if (!key) return <SignInView />;
  return (
    <div className="frame">
      <SideBar />
      <main id="content" tabIndex={-1}>
        <Views />
      </main>
    </div>
  );
}

/** The places of the console; on a narrow screen, below a button. */
function SideBar() {
  const [path] = useLocation();
  const [openAt, setOpenAt] = useState<string>();
  const seesAll = useSeesAllPartners();
  // A chosen place closes it.
  const isOpen = openAt === path;
  // Sources are below partners, as in the API; products are in the catalog, and skipped rows beside the feeds.
  const place = path
    .replace(/^\/partners\/[^/]+(?=\/sources\/)/, '')
    .replace(/^\/products\//, `${routes.catalog}/`)
    .replace(routes.skipped, routes.feeds);
  const isCurrent = (to: string) =>
    to === routes.home ? path === to : place === to || place.startsWith(`${to}/`);
  return (
    <header className={isOpen ? 'side-bar open' : 'side-bar'}>
      <a className="skip" href="#content">
        {texts.skip}
      </a>
      <Link href={routes.home} className="brand">
        {texts.name}
      </Link>
      <button
        type="button"
        className="menu button"
        aria-expanded={isOpen}
        onClick={() => setOpenAt(isOpen ? undefined : path)}
      >
        {texts.nav.menu}
      </button>
      <nav aria-label={texts.nav.label}>
        {groups.map((places) => (
          <ul key={places[0]}>
            {places
              .filter((name) => seesAll || !placesOfAll.includes(name))
              .map((name) => (
                <li key={name}>
                  <Link
                    href={routes[name]}
                    aria-current={isCurrent(routes[name]) ? 'page' : undefined}
                    onClick={() => setOpenAt(undefined)}
                  >
                    {texts.nav[name]}
                  </Link>
                </li>
              ))}
          </ul>
        ))}
      </nav>
      <div className="side-bar-end">
        <a href={new URL('docs', root).href}>{texts.nav.docs}</a>
        <button
          type="button"
          onClick={() => {
            void removeDraft();
            signOut();
          }}
        >
          {texts.nav.signOut}
        </button>
      </div>
    </header>
  );
}
