import { Component, type ReactNode } from 'react';
import { Link } from 'wouter';
import { NewReleaseError } from '../data/release';
import { routes } from '../routes';
import { texts } from '../texts';
import { Action } from './action';
import { PageView } from './page';
import { Value } from './value';

interface Options {
  /** Address of the view: a new address resets the failure. */
  address: string;
  children: ReactNode;
}

/** Shows a failure instead of its children if they cannot be rendered; the navigation beside it stays. */
export class Boundary extends Component<Options, { error?: Error }> {
  override state: { error?: Error } = {};

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override componentDidUpdate({ address }: Options) {
    if (address !== this.props.address && this.state.error) this.setState({ error: undefined });
  }

  override render() {
    const { error } = this.state;
    if (!error) return this.props.children;
    const isReplaced = error instanceof NewReleaseError;
    return (
      <PageView title={isReplaced ? texts.failure.newRelease : texts.failure.view}>
        <div role="alert" className={isReplaced ? 'notice' : 'notice bad'}>
          <p>{isReplaced ? texts.failure.newReleaseWay : texts.failure.viewWay}</p>
          {!isReplaced && (
            <p>
              <Value>{error.message}</Value>
            </p>
          )}
          <div className="actions">
            <Action kind="primary" onPress={() => location.reload()}>
              {texts.failure.reload}
            </Action>
            <Link href={routes.home} className="button">
              {texts.nav.home}
            </Link>
          </div>
        </div>
      </PageView>
    );
  }
}
