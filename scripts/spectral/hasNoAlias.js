/** A Spectral function: the source of the document must have no anchor, and so no alias. Only the syntax tree shows them. */
export default function hasNoAlias(_document, _options, { document }) {
  const lineOf = ({ startPosition }) => document.input.slice(0, startPosition).split('\n').length;
  return anchored(document.parserResult.ast).map((node) => ({ message: String(lineOf(node)) }));
}

function anchored(node) {
  if (typeof node !== 'object' || node === null || node.referencesAnchor) return [];
  const { key, value, items = [], mappings = [] } = node;
  const within = [key, value, ...items, ...mappings].flatMap(anchored);
  return node.anchorId ? [node, ...within] : within;
}
