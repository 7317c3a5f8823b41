const { default: Sequencer } = require('@jest/test-sequencer');

const tiers = ['more', 'system', 'api', 'unit'];

/** Starts with the tiers of the longest files, so that no core waits for one of them at the end. */
class TierOrder extends Sequencer {
  async sort(tests) {
    const tierOf = ({ context }) => tiers.indexOf(context.config.displayName.name);
    return Array.from(await super.sort(tests)).sort((one, other) => tierOf(one) - tierOf(other));
  }
}

module.exports = TierOrder;
