import { useQuery } from '@tanstack/react-query';
import { Link, Redirect } from 'wouter';
import type { Schemas } from '../api';
import { addressOfSheet } from '../data/address';
import { useDraft, type Draft } from '../data/draft';
import { byMapping, proposeReading } from '../data/reading';
import { requestInspection } from '../data/upload';
import { FailureNotice } from '../parts/failure';
import { Loading, PageView } from '../parts/page';
import { addressOf, routes } from '../routes';
import { texts } from '../texts';
import { FileFacts } from './file-facts';
import { LostFile } from './lost-file';
import { NoTable } from './no-table';
import { ReadingForm } from './reading-form';

/** Shows the findings of the inspection of a chosen file, before anything is stored. */
export function CheckView() {
  const draft = useDraft();
  if (draft.data?.partner === '') return <Redirect to={routes.send} replace />;
  if (draft.data === null) return <LostFile />;
  if (draft.data?.workbook && !draft.data.sheet) return <Redirect to={routes.workbook} replace />;
  return (
    <PageView
      title={texts.check.title}
      actions={
        draft.data?.sheet && (
          <Link href={addressOfSheet(draft.data.sheet)} className="button">
            {texts.workbook.anotherSheet}
          </Link>
        )
      }
    >
      {draft.data ? <Inspected draft={draft.data} /> : <Loading />}
    </PageView>
  );
}

function Inspected({ draft }: { draft: Draft }) {
  const { partner, file } = draft;
  const inspection = useQuery({
    queryKey: ['inspection', partner, file.name, file.size, file.lastModified],
    queryFn: () => requestInspection(partner, file),
    gcTime: 0,
  });
  if (inspection.error)
    return (
      <>
        <FailureNotice error={inspection.error} retry={() => void inspection.refetch()} />
        <Link href={addressOf('send', { partner })} className="button">
          {texts.back}
        </Link>
      </>
    );
  if (!inspection.data) return <Loading />;
  return <Proposed draft={draft} inspection={inspection.data} />;
}

function Proposed({ draft, inspection }: { draft: Draft; inspection: Schemas['FeedInspection'] }) {
  const { partner, file } = draft;
  const proposal = useQuery({
    queryKey: ['proposal', partner, file.name, file.size, file.lastModified],
    queryFn: () => proposeReading(draft, inspection),
    staleTime: Infinity,
    gcTime: 0,
  });
  if (proposal.error) return <FailureNotice error={proposal.error} retry={() => void proposal.refetch()} />;
  if (!proposal.data) return <Loading />;
  const { hint, refusal, suggested_format, draft_format } = inspection;
  if (proposal.data.reading !== byMapping || suggested_format || draft_format)
    return <ReadingForm draft={draft} inspection={inspection} proposal={proposal.data} />;
  return (
    <>
      <FileFacts draft={draft} inspection={inspection} />
      <NoTable partner={partner} reason={hint?.message ?? refusal} />
    </>
  );
}
