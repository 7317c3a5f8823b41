import { catalogTexts } from './catalog';
import { commonTexts } from './common';
import { feedsTexts } from './feeds';
import { partnersTexts } from './partners';
import { salesTexts } from './sales';
import { sendingTexts } from './sending';
import { sourcesTexts } from './sources';
import { webhooksTexts } from './webhooks';

export { sampleFeed } from './sending';

/** Every text of the console. Functions take values; data of feeds is never part of a text. */
export const texts = {
  ...commonTexts,
  ...sendingTexts,
  ...feedsTexts,
  ...partnersTexts,
  ...sourcesTexts,
  ...catalogTexts,
  ...salesTexts,
  ...webhooksTexts,
};
