/** A Spectral function: the codes of `x-error-codes` must be values of the schema KnownErrorCode, the example of the header one of them. */
export default function hasKnownCodes(response, _options, { document }) {
  const known = document.data.components.schemas.KnownErrorCode.enum;
  const codes = response['x-error-codes'];
  const example = response.headers?.['x-error-code']?.example;
  const wrong = [
    ...codes.filter((code) => !known.includes(code)),
    ...(example === undefined || codes.includes(example) ? [] : [example]),
  ];
  return wrong.map((code) => ({ message: `\`${code}\`` }));
}
