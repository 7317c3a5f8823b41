import { Component, type ReactNode } from 'react';
import { Link } from 'wouter';
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
    return (
      <PageView title={texts.failure.view}>
        <div role="alert" className="notice bad">
          <p>{texts.failure.viewWay}</p>
          <p>
            <Value>{error.message}</Value>
          </p>
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
