import { expect, test } from 'bun:test'
import { composeMail, MAILS, type MailName } from './mail-texts.ts'

const NAMES = ['reset-password', 'account-created', 'verify-email', 'change-email'] as const
const LINK = { appUrl: 'https://stead.example', token: 'abc' }

test.each(NAMES)('%s: text and HTML contain the same link and no other', (name) => {
  const { text, html = '' } = composeMail(name, 'ada@example.com', LINK)
  const url = `https://stead.example${MAILS[name].page}?token=abc`
  expect(text.match(/https?:\S+/g)).toEqual([url])
  expect(html.match(/href="([^"]*)"/g)).toEqual([`href="${url}"`])
  expect(html).not.toContain('<img')
})

test('composeMail escapes the parts of a link in HTML', () => {
  const { html } = composeMail('reset-password', 'ada@example.com', {
    appUrl: 'https://stead.example/"><script>alert(1)</script>',
    token: '"&<',
  })
  expect(html).not.toContain('<script>')
  expect(html).not.toContain('"&<')
})

test('a notification contains no link, whatever its texts', () => {
  const notices = Object.keys(MAILS).filter((name): name is MailName => !NAMES.some((link) => link === name))
  expect(notices.length).toBeGreaterThan(10)
  for (const name of notices) {
    const { text, html } = composeMail(name, 'ada@example.com', LINK)
    expect(text).not.toContain('http')
    expect(html).not.toContain('href')
  }
})
