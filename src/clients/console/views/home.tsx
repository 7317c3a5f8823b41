import { useLocation } from 'wouter';
import { saveDraft } from '../data/draft';
import { usePartners } from '../data/queries';
import { Action } from '../parts/action';
import { Card, PageView } from '../parts/page';
import { routes } from '../routes';
import { sampleFeed, texts } from '../texts';
import { PartnerTable } from './partners';

/** The partners, with those in need of attention first; in a new installation, the first steps. */
export function HomeView() {
  const [, navigate] = useLocation();
  const list = usePartners({ sort_by: 'attention' });
  const isNew = list.data?.pages[0]?.items.length === 0;
  return (
    <PageView
      title={texts.home.title}
      actions={
        <Action kind="primary" onPress={() => navigate(routes.send)}>
          {texts.nav.send}
        </Action>
      }
    >
      {isNew ? (
        <Beginning />
      ) : (
        <Card title={texts.home.partners}>
          <PartnerTable list={list} />
        </Card>
      )}
    </PageView>
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
    <Card title={texts.home.emptyTitle}>
      <p>{texts.home.emptyLead}</p>
      <div className="actions">
        <Action kind="primary" onPress={() => void trySample()}>
          {texts.home.sample}
        </Action>
        <Action onPress={() => navigate(routes.send)}>{texts.home.own}</Action>
      </div>
    </Card>
  );
}
