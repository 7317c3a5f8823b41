import { texts } from '../texts';
import { Action } from './action';
import { FailureNotice } from './failure';

/** A list that is read page by page. */
export interface Pages {
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  isFetchNextPageError: boolean;
  error: Error | null;
  fetchNextPage: () => unknown;
  refetch: () => unknown;
}

/** Loads the next page of a list, if there is one; shows a failure below the loaded rows. */
export function More({ list }: { list: Pages }) {
  const next = () => void list.fetchNextPage();
  if (list.error && !list.isFetchingNextPage)
    return (
      <FailureNotice
        error={list.error}
        retry={list.isFetchNextPageError ? next : () => void list.refetch()}
      />
    );
  if (!list.hasNextPage) return null;
  return (
    <p className="more">
      <Action isDisabled={list.isFetchingNextPage} onPress={next}>
        {list.isFetchingNextPage ? texts.loading : texts.more}
      </Action>
    </p>
  );
}
