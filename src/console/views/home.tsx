import { useLocation } from 'wouter';
import { routes } from '../data/address';
import { saveDraft } from '../data/draft';
import { useFeeds } from '../data/queries';
import { Action } from '../parts/action';
import { Failure } from '../parts/failure';
import { Card, Loading, Page } from '../parts/page';
import { sampleFeed, texts } from '../texts';
import { FeedTable } from './feeds';
import { PartnerTable } from './partners';

/** What is going on; in a new installation, how to begin. */
export function HomeView() {
  const [, navigate] = useLocation();
  const feeds = useFeeds({ limit: 5 });
  const trySample = async () => {
    const file = new File([sampleFeed], texts.file.sample, { type: 'text/csv' });
    await saveDraft({ partner: texts.file.samplePartner, file });
    navigate(routes.check);
  };
  const latest = feeds.data?.pages[0]?.items;
  return (
    <Page
      title={texts.home.title}
      actions={
        <Action kind="primary" onPress={() => navigate(routes.send)}>
          {texts.nav.send}
        </Action>
      }
    >
      {feeds.error && <Failure error={feeds.error} retry={() => void feeds.refetch()} />}
      {feeds.isPending && <Loading />}
      {latest?.length === 0 && (
        <Card title={texts.home.emptyTitle}>
          <p>{texts.home.emptyLead}</p>
          <div className="actions">
            <Action kind="primary" onPress={() => void trySample()}>
              {texts.home.sample}
            </Action>
            <Action onPress={() => navigate(routes.send)}>{texts.home.own}</Action>
          </div>
        </Card>
      )}
      {latest && latest.length > 0 && (
        <>
          <Card title={texts.home.partners}>
            <PartnerTable search="" />
          </Card>
          <Card title={texts.home.latest}>
            <FeedTable feeds={latest} label={texts.home.latest} />
          </Card>
        </>
      )}
    </Page>
  );
}
