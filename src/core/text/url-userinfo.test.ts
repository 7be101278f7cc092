import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { findHold } from '../../../tests/harness/speed/loop-hold.ts'
import { withoutUserinfo } from './url-userinfo.ts'

test.each([
  ['https://ada:secret@example.com/a?b#c', 'https://example.com/a?b#c'],
  ['https://token@example.com', 'https://example.com'],
  ['https://ada:se@cret@example.com/x@y', 'https://example.com/x@y'],
  ['cannot reach smtp://ada:se"cret@mail and http://b:c@d', 'cannot reach smtp://mail and http://d'],
  ['{"url":"https://ada:se\\"cr\\\\et@example.com/"}', '{"url":"https://example.com/"}'],
  ['https://example.com/@ada', 'https://example.com/@ada'],
  ['see https://example.com and write to ada@example.com', 'see https://example.com and write to ada@example.com'],
  ['a://b://c@d', 'a://b://d'],
  ['https://@example.com', 'https://@example.com'],
  ['https://@@example.com', 'https://example.com'],
  ['https://ada:se\\ncret@example.com', 'https://ada:se\\ncret@example.com'],
  ['https://ada:se cret@example.com', 'https://ada:se cret@example.com'],
  ['://ada:secret@example.com', '://ada:secret@example.com'],
])('withoutUserinfo removes user name and password from %s', (text, expected) => {
  expect(withoutUserinfo(text)).toBe(expected)
})

test('withoutUserinfo removes the password of any URL', () => {
  const url = fc.webUrl({ withQueryParameters: true, authoritySettings: { withUserInfo: true } })
  fc.assert(
    fc.property(url, (text) => {
      const cleaned = new URL(withoutUserinfo(text))
      expect([cleaned.username, cleaned.password]).toEqual(['', ''])
      const { host, pathname, search } = new URL(text)
      expect([cleaned.host, cleaned.pathname, cleaned.search]).toEqual([host, pathname, search])
    }),
  )
})

test.each([
  ['http://'.repeat(20_000) + 'a'.repeat(200_000) + ' http://'.repeat(20_000)],
  [`https://${'a.'.repeat(500_000)}`],
  [`https://${'%41'.repeat(300_000)}`],
  [`https://${'a@'.repeat(500_000)}`],
  [`https://${'ä'.repeat(500_000)}`],
])('withoutUserinfo finishes quickly when a line is long: %#', async (text) => {
  expect(await findHold(500, () => withoutUserinfo(text))).toBeLessThan(500)
})
