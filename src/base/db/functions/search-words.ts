/** Code points of the category M (Unicode 17) in hexadecimal; a range may contain unassigned ones. */
const marks = `
  0300-036f 0483-0489 0591-05bd 05bf 05c1-05c2 05c4-05c5 05c7 0610-061a 064b-065f 0670 06d6-06dc 06df-06e4
  06e7-06e8 06ea-06ed 0711 0730-074a 07a6-07b0 07eb-07f3 07fd 0816-0819 081b-0823 0825-0827 0829-082d 0859-085b
  0897-089f 08ca-08e1 08e3-0903 093a-093c 093e-094f 0951-0957 0962-0963 0981-0983 09bc 09be-09cd 09d7 09e2-09e3
  09fe-0a03 0a3c-0a51 0a70-0a71 0a75 0a81-0a83 0abc 0abe-0acd 0ae2-0ae3 0afa-0b03 0b3c 0b3e-0b57 0b62-0b63 0b82
  0bbe-0bcd 0bd7 0c00-0c04 0c3c 0c3e-0c56 0c62-0c63 0c81-0c83 0cbc 0cbe-0cd6 0ce2-0ce3 0cf3-0d03 0d3b-0d3c
  0d3e-0d4d 0d57 0d62-0d63 0d81-0d83 0dca-0ddf 0df2-0df3 0e31 0e34-0e3a 0e47-0e4e 0eb1 0eb4-0ebc 0ec8-0ece
  0f18-0f19 0f35 0f37 0f39 0f3e-0f3f 0f71-0f84 0f86-0f87 0f8d-0fbc 0fc6 102b-103e 1056-1059 105e-1060 1062-1064
  1067-106d 1071-1074 1082-108d 108f 109a-109d 135d-135f 1712-1715 1732-1734 1752-1753 1772-1773 17b4-17d3 17dd
  180b-180d 180f 1885-1886 18a9 1920-193b 1a17-1a1b 1a55-1a7f 1ab0-1b04 1b34-1b44 1b6b-1b73 1b80-1b82 1ba1-1bad
  1be6-1bf3 1c24-1c37 1cd0-1cd2 1cd4-1ce8 1ced 1cf4 1cf7-1cf9 1dc0-1dff 20d0-20f0 2cef-2cf1 2d7f 2de0-2dff
  302a-302f 3099-309a a66f-a672 a674-a67d a69e-a69f a6f0-a6f1 a802 a806 a80b a823-a827 a82c a880-a881 a8b4-a8c5
  a8e0-a8f1 a8ff a926-a92d a947-a953 a980-a983 a9b3-a9c0 a9e5 aa29-aa36 aa43 aa4c-aa4d aa7b-aa7d aab0 aab2-aab4
  aab7-aab8 aabe-aabf aac1 aaeb-aaef aaf5-aaf6 abe3-abea abec-abed fb1e fe00-fe0f fe20-fe2f 101fd 102e0 10376-1037a
  10a01-10a0f 10a38-10a3f 10ae5-10ae6 10d24-10d27 10d69-10d6d 10eab-10eac 10efa-10eff 10f46-10f50 10f82-10f85
  11000-11002 11038-11046 11070 11073-11074 1107f-11082 110b0-110ba 110c2 11100-11102 11127-11134 11145-11146 11173
  11180-11182 111b3-111c0 111c9-111cc 111ce-111cf 1122c-11237 1123e 11241 112df-112ea 11300-11303 1133b-1133c
  1133e-1134d 11357 11362-11374 113b8-113d0 113d2 113e1-113e2 11435-11446 1145e 114b0-114c3 115af-115c0 115dc-115dd
  11630-11640 116ab-116b7 1171d-1172b 1182c-1183a 11930-1193e 11940 11942-11943 119d1-119e0 119e4 11a01-11a0a
  11a33-11a39 11a3b-11a3e 11a47 11a51-11a5b 11a8a-11a99 11b60-11b67 11c2f-11c3f 11c92-11cb6 11d31-11d45 11d47
  11d8a-11d97 11ef3-11ef6 11f00-11f01 11f03 11f34-11f42 11f5a 13440 13447-13455 1611e-1612f 16af0-16af4 16b30-16b36
  16f4f 16f51-16f92 16fe4-16ff1 1bc9d-1bc9e 1cf00-1cf46 1d165-1d169 1d16d-1d172 1d17b-1d182 1d185-1d18b 1d1aa-1d1ad
  1d242-1d244 1da00-1da36 1da3b-1da6c 1da75 1da84 1da9b-1daaf 1e000-1e02a 1e08f 1e130-1e136 1e2ae 1e2ec-1e2ef
  1e4ec-1e4ef 1e5ee-1e5ef 1e6e3 1e6e6 1e6ee-1e6ef 1e6f5 1e8d0-1e8d6 1e944-1e94a e0100-e01ef
`;

/** A bracket expression of PostgreSQL. */
const marksSql = marks
  .trim()
  .split(/\s+/)
  .map((range) => range.replace(/[0-9a-f]+/g, (code) => `\\U${code.padStart(8, '0')}`))
  .join('');

/**
 * Splits a text into the words of the search.
 * NFKD, marks dropped, lower case, split at anything but letters and digits. A word has at most its first 500 characters: a lexeme
 * has at most 2,046 bytes. A final sigma becomes a sigma, as the end of a prefix is not the end of a word. Most texts are ASCII,
 * which needs fewer steps. Independent of the locale of the database.
 */
export const searchWordsSql = `
  create or replace function search_words(text) returns text[] language plpgsql immutable strict parallel safe as $$
  declare
    word_list text := case
      when octet_length($1) = length($1)
        then regexp_replace(lower($1 collate "C"), '[^a-z0-9]+' collate "C", ' ', 'g')
      else regexp_replace(
        translate(
          lower(regexp_replace(normalize($1, nfkd), '[${marksSql}]+' collate "C", '', 'g') collate "und-x-icu"),
          'ς', 'σ'
        ),
        '[^[:alnum:]]+', ' ', 'g'
      ) collate "C"
    end;
    words text[] := string_to_array(trim(word_list), ' ');
  begin
    if length(word_list) <= 500 then
      return words;
    end if;
    return array(select left(word, 500) from unnest(words) with ordinality as each_word (word, place) order by place);
  end $$;
`;
