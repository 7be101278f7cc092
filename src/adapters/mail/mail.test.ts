import { expect, test } from 'bun:test'
import { createServer } from 'node:net'
import { startMailServer } from '../../../tests/harness/doubles/mail-server.ts'
import { capturedLog } from '../../../tests/harness/log.ts'
import { createMailer } from './mail.ts'

const MAIL = {
  to: 'ada@example.com',
  subject: 'Grüße',
  text: `A link that is longer than a line of mail: https://stead.example/reset-password?token=${'x'.repeat(90)}\n`,
  html: '<p>Grüße &amp; more</p>',
}

test('send delivers text and HTML when a mail server is configured', async () => {
  await using server = await startMailServer()
  const { log } = capturedLog()
  const mailer = createMailer({ smtpUrl: server.url, from: 'Stead <stead@example.org>', writesToLog: true }, { log })
  expect(mailer.isConfigured).toBe(true)
  await mailer.send(MAIL)
  expect(server.received).toMatchObject([{ from: 'stead@example.org', to: ['ada@example.com'] }])
  const [mail] = server.received
  expect(mail?.text.trim()).toBe(MAIL.text.trim())
  expect(mail?.html.trim()).toBe(MAIL.html)
  expect(mail?.raw).toContain('Auto-Submitted: auto-generated')
  expect(mail?.raw).toContain('From: Stead <stead@example.org>')
})

test('send keeps one recipient or rejects when an address looks like a list or a header', async () => {
  await using server = await startMailServer()
  const { log } = capturedLog()
  const mailer = createMailer({ smtpUrl: server.url, from: 'stead@example.org', writesToLog: false }, { log })
  for (const to of ['ada@example.com, eve@example.com', 'ada@example.com\r\nBcc: eve@example.com']) {
    await mailer.send({ ...MAIL, to }).catch(() => undefined)
  }
  expect(server.received.flatMap(({ to }) => to)).not.toContain('eve@example.com')
})

test('send rejects when the server refuses the mail', async () => {
  await using server = await startMailServer()
  const { log } = capturedLog()
  const mailer = createMailer({ smtpUrl: server.url, from: 'stead@example.org', writesToLog: false }, { log })
  server.refuse('try later')
  await expect(mailer.send(MAIL)).rejects.toThrow('try later')
})

test('send rejects when the server is unreachable or silent until the caller aborts', async () => {
  const { log } = capturedLog()
  const silent = createServer(() => undefined).listen(0, '127.0.0.1')
  await new Promise((resolve) => silent.once('listening', resolve))
  const address = silent.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const mailer = createMailer({ smtpUrl: `smtp://127.0.0.1:${port}`, from: 'a@b.example', writesToLog: false }, { log })
  await expect(mailer.send(MAIL, AbortSignal.timeout(50))).rejects.toThrow()
  await new Promise<void>((resolve) => silent.close(() => resolve()))
  await expect(mailer.send(MAIL)).rejects.toThrow()
})

test('send logs the text when no server is configured in development', async () => {
  const { log, lines } = capturedLog()
  const send = async (writesToLog: boolean) => {
    const mailer = createMailer({ smtpUrl: undefined, from: 'stead@example.org', writesToLog }, { log })
    expect(mailer.isConfigured).toBe(false)
    await mailer.send(MAIL)
  }
  await send(false)
  expect(lines).toEqual([])
  await send(true)
  expect(lines).toMatchObject([{ to: MAIL.to, text: MAIL.text }])
})
