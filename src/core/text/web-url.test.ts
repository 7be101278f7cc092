import { expect, test } from 'bun:test'
import { findHold } from '../../../tests/harness/speed/loop-hold.ts'
import { webUrl } from './names.ts'

const Url = webUrl('url must be an http or https URL')

test.each(['https://example.com/a?b#c', 'http://[2001:db8::1]:8080', 'https://bücher.example'])(
  'webUrl accepts %s',
  (url) => {
    expect(Url.parse(url)).toBe(url)
  },
)

test.each(['ftp://example.com', 'example.com', '', 7, null, `https://example.com/${'a'.repeat(2000)}`])(
  'webUrl rejects %p',
  (url) => {
    expect(Url.safeParse(url).error?.issues.map(({ message }) => message)).toEqual(['url must be an http or https URL'])
  },
)

test.each([['ä.'], ['a.'], ['%41'], ['a@']])('webUrl rejects a megabyte of %p before parsing it', async (piece) => {
  const url = `https://${piece.repeat(1_000_000 / piece.length)}`
  // The URL parser takes from half a second to half a minute for these.
  expect(await findHold(200, () => expect(Url.safeParse(url).success).toBe(false))).toBeLessThan(200)
})
