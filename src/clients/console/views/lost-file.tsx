import { Link } from 'wouter';
import { PageView } from '../parts/page';
import { routes } from '../routes';
import { texts } from '../texts';

/** Shows that the browser has no chosen file. */
export function LostFile() {
  return (
    <PageView title={texts.check.lost}>
      <p>{texts.check.lostWay}</p>
      <Link href={routes.send} className="button primary">
        {texts.send.choose}
      </Link>
    </PageView>
  );
}
