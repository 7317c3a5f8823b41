const { default: Sequencer } = require('@jest/test-sequencer');

const tiers = ['more', 'system', 'api', 'unit'];

/** Begins with the tiers of the longest files, so that at the end of a run no core waits for one of them. */
class TierOrder extends Sequencer {
  async sort(tests) {
    const tierOf = ({ context }) => tiers.indexOf(context.config.displayName.name);
    return Array.from(await super.sort(tests)).sort((one, other) => tierOf(one) - tierOf(other));
  }
}

module.exports = TierOrder;
