import { exportedNames, generators, isInvented, nameProblems } from '../../../scripts/sdks';

describe('the names of a client', () => {
  const invented = [
    'Inline_response_200_3',
    'InlineObject',
    'Error_2',
    'Response200',
    'Body1',
    'JobSummaryAnyOf',
  ];
  const chosen = ['RunSummary', 'uploadFeed', 'UploadFeedResponses', 'ListProductsParams', 'sha256_of'];

  it.each(invented)('must not be %s', (name) => expect(isInvented(name)).toBe(true));

  it.each(chosen)('may be %s', (name) => expect(isInvented(name)).toBe(false));

  it('are checked against the document', () => {
    const sources = { 'client.ts': 'export type FileSha256 = string;\nexport interface Inline1 {}\n' };
    const client = { generator: generators.oazapfts, seconds: 1, sources };

    expect(exportedNames(sources)).toEqual(['FileSha256', 'Inline1']);
    expect(nameProblems(client, { given: ['FileSha256'], required: ['FileSha256', 'getFeed'] })).toEqual([
      'oazapfts invents the name Inline1: give the schema one.',
      'oazapfts has nothing called getFeed.',
    ]);
  });
});
