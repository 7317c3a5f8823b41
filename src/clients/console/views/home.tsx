import type { InfiniteData } from '@tanstack/react-query';
import { Link, useLocation } from 'wouter';
import type { Schemas } from '../api';
import { saveDraft } from '../data/draft';
import { usePartners, useSeesAllPartners } from '../data/queries';
import { Action } from '../parts/action';
import { AttentionTable } from '../parts/attention';
import { Empty } from '../parts/empty';
import { FeedList } from '../parts/feed-list';
import { More } from '../parts/more';
import { Card, PageView } from '../parts/page';
import { Query } from '../parts/query';
import { WeekFigures } from '../parts/week';
import { addressOf, routes } from '../routes';
import { sampleFeed, texts } from '../texts';

type Pages = InfiniteData<Schemas['PartnerList']>;

/** What needs attention, and the figures of the week; in a new installation, the first steps. */
export function HomeView() {
  const list = usePartners({ sort_by: 'attention', limit: 100 });
  return (
    <PageView
      title={texts.home.title}
      actions={
        <Link className="button primary" href={routes.send}>
          {texts.nav.send}
        </Link>
      }
    >
      <Query of={list}>
        {({ pages }) =>
          pages[0]!.items.length === 0 ? <Beginning /> : <Overview pages={pages} list={list} />
        }
      </Query>
    </PageView>
  );
}

function Overview({ pages, list }: { pages: Pages['pages']; list: ReturnType<typeof usePartners> }) {
  const seesAll = useSeesAllPartners();
  const partners = pages.flatMap(({ items }) => items);
  const only = !seesAll && partners.length === 1 ? partners[0]!.partner_name : '';
  return (
    <>
      <Needs partners={partners} list={list} only={only} />
      <WeekFigures />
      {only !== '' && (
        <Card title={texts.home.lastFeeds} actions={<Link href={routes.feeds}>{texts.home.toFeeds}</Link>}>
          <FeedList partner={only} isOfPartner limit={5} />
        </Card>
      )}
    </>
  );
}

interface NeedsOptions {
  partners: Schemas['Partner'][];
  list: ReturnType<typeof usePartners>;
  /** The only partner that the key may see; empty: all. */
  only: string;
}

/** The partners in need, worst first; the others are one line. */
function Needs({ partners, list, only }: NeedsOptions) {
  const sick = partners.filter(({ attention }) => attention.length > 0);
  // Partners in need come first: after the first well one, only well ones follow.
  const hasMore = list.hasNextPage && sick.length === partners.length;
  const { title, titleOf } = texts.attention;
  return (
    <Card title={sick.length === 0 || only ? title : titleOf(sick.length, hasMore)}>
      {sick.length > 0 && <AttentionTable partners={sick} isOfPartner={only !== ''} />}
      {hasMore ? (
        <More list={list} />
      ) : (
        <Well
          well={list.hasNextPage ? undefined : partners.length - sick.length}
          sick={sick.length}
          only={only}
        />
      )}
    </Card>
  );
}

interface WellOptions {
  /** How many partners need nothing; undefined: more than were read. */
  well: number | undefined;
  sick: number;
  only: string;
}

function Well({ well, sick, only }: WellOptions) {
  const { allWell, otherWell, othersWell, oneIsWell, toPartners } = texts.attention;
  if (well === 0) return null;
  const text = () => {
    if (only) return oneIsWell;
    if (well === undefined) return othersWell;
    return sick === 0 ? allWell(well) : otherWell(well);
  };
  return (
    <p className="muted">
      {text()}{' '}
      <Link href={only ? addressOf('partner', { partner: only }) : routes.partners}>{toPartners}</Link>
    </p>
  );
}

function Beginning() {
  const [, navigate] = useLocation();
  const trySample = async () => {
    const file = new File([sampleFeed], texts.file.sample, { type: 'text/csv' });
    await saveDraft({ partner: texts.file.samplePartner, file });
    navigate(routes.check);
  };
  return (
    <Card>
      <Empty
        title={texts.home.emptyTitle}
        lead={texts.home.emptyLead}
        action={
          <div className="actions">
            <Action kind="primary" onPress={() => void trySample()}>
              {texts.home.sample}
            </Action>
            <Link className="button" href={routes.send}>
              {texts.home.own}
            </Link>
          </div>
        }
      />
    </Card>
  );
}
