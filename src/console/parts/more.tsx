import { texts } from '../texts';
import { Action } from './action';

interface Pages {
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  fetchNextPage: () => unknown;
}

/** Loads the next page of a list, where there is one. */
export function More({ list }: { list: Pages }) {
  if (!list.hasNextPage) return null;
  return (
    <p className="more">
      <Action isDisabled={list.isFetchingNextPage} onPress={() => void list.fetchNextPage()}>
        {list.isFetchingNextPage ? texts.loading : texts.more}
      </Action>
    </p>
  );
}
