import { expect, test } from 'bun:test'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import { Webhook } from 'standardwebhooks'
import { z } from 'zod'
import { agentOwner } from '../../../../tests/harness/agent-owner.ts'
import { startAgentDouble } from '../../../../tests/harness/doubles/agent.ts'
import { startMailServer } from '../../../../tests/harness/doubles/mail-server.ts'
import { startJobs } from '../../../../tests/harness/jobs.ts'
import { read } from '../../../../tests/harness/requests.ts'
import { until } from '../../../../tests/harness/until.ts'
import { write } from '../../../db/write.ts'
import { users } from '../../accounts/users/tables.ts'
import { ChannelList, MailChannel } from '../../agents/channels/schemas.ts'
import { agents } from '../../agents/registry/tables.ts'
import { findAuthentication } from './headers.ts'
import { Inbox } from './schemas.ts'

const SECRET = `whsec_${Buffer.from('a secret of the mail service').toString('base64')}`
const Received = z.object({ action: z.string() })
const ADA = 'ada@example.com'
const BOB = 'bob@example.org'

/** Starts Ada's agent, which answers mail through a real mail server with the text `answer`. */
async function open(answer: () => string | Response = () => 'At four.', environment: Record<string, string> = {}) {
  const server = await startMailServer()
  const agent = startAgentDouble(answer)
  const installation = await agentOwner({
    environment: {
      WEBHOOK_EMAIL_SECRET: SECRET,
      SMTP_URL: server.url,
      MAIL_FROM: 'Stead <house@stead.example>',
      AGENT_MAIL_ADDRESS: 'post+{agent}@agents.example',
      ...environment,
    },
  })
  const { platform, clock, web } = installation
  const jobs = startJobs(platform)
  await write(platform.db, (tx) => {
    tx.update(agents).set({ port: agent.port, runtime: 'process' }).where(eq(agents.id, installation.agent.id)).run()
    tx.update(users).set({ emailVerifiedAt: clock.now() }).where(eq(users.id, installation.user.id)).run()
  })
  mkdirSync(join(platform.agentsFolder, installation.agent.id, 'state', 'workspace'), { recursive: true })
  let sent = 0
  const path = `/api/agents/${installation.agent.id}/channels`
  return {
    ...installation,
    server,
    agent,
    path,
    address: `post+${installation.agent.id}@agents.example`,
    turn: (isOn: boolean) => installation.asOwner(`${path}/mail`, 'PUT', { isOn }),
    async receive(data: { from?: string; headers?: Record<string, string> } & Record<string, unknown> = {}) {
      const headers = { 'Authentication-Results': 'mx; dmarc=pass', ...data.headers }
      const mail = { from: ADA, to: this.address, subject: 'Tea', text: 'When?', ...data, headers }
      const body = JSON.stringify({ type: 'email.received', data: mail })
      sent += 1
      const id = `msg_${sent}`
      const signed = {
        'svix-id': id,
        'svix-timestamp': String(Math.floor(Date.now() / 1000)),
        'svix-signature': new Webhook(SECRET).sign(id, new Date(), body),
      }
      const response = await web.request('/api/webhooks/email', { method: 'POST', body, headers: signed })
      return (await read(Received, response)).action
    },
    inbox: async () => (await read(Inbox, installation.asOwner('/api/inbox'))).messages,
    channel: async () =>
      (await read(ChannelList, installation.asOwner(path))).channels.find(({ name }) => name === 'mail'),
    async [Symbol.asyncDispose]() {
      await jobs[Symbol.asyncDispose]()
      await Promise.all([server[Symbol.asyncDispose](), agent[Symbol.asyncDispose]()])
    },
  }
}

const sentMails = ({ server }: { server: { received: unknown[] } }, count: number) =>
  until(`${count} mails`, () => server.received.length === count)
const header = (raw: string, name: string) =>
  new RegExp(`^${name}: (.*(?:\\r\\n[ \\t].*)*)`, 'im').exec(raw)?.[1]?.replace(/\r\n\s+/g, ' ')

test('POST /api/webhooks/email: 200 and an agent with mail replies in the thread, marked as automatic; bounces go to the operator', async () => {
  await using installation = await open()
  expect((await installation.turn(true)).status).toBe(200)
  const headers = { 'Message-ID': '<two@example.com>', References: '<one@example.com> <answer@agents.example>' }
  expect(await installation.receive({ headers })).toBe('processed')
  await sentMails(installation, 1)
  const [mail] = installation.server.received
  expect(mail).toMatchObject({ from: 'house@stead.example', to: [ADA], subject: 'Re: Tea' })
  const raw = mail?.raw ?? ''
  expect(raw).toContain('At four.')
  expect(header(raw, 'From')).toBe(`Bo <${installation.address}>`)
  expect(header(raw, 'In-Reply-To')).toBe('<two@example.com>')
  expect(header(raw, 'References')).toBe('<one@example.com> <answer@agents.example> <two@example.com>')
  expect(header(raw, 'Auto-Submitted')).toBe('auto-replied')
  expect(header(raw, 'Message-ID')).toMatch(/^<mail_\w+@agents\.example>$/)
  const [kept] = await until('that it is noted', async () => {
    const list = await installation.inbox()
    return list[0]?.answer?.status === 'sent' ? list : null
  })
  expect(kept).toMatchObject({ status: 'delivered', reply: 'At four.', answer: { error: null } })
  expect(installation.agent.questions[0]?.message).toContain('What you say now is sent to its sender')
})

test('POST /api/webhooks/email: 200 and mails of one thread are one conversation, another thread is another', async () => {
  await using installation = await open()
  await installation.turn(true)
  await installation.receive({ headers: { 'Message-ID': '<one@example.com>' } })
  await sentMails(installation, 1)
  const answered = header(installation.server.received[0]?.raw ?? '', 'Message-ID') ?? ''
  const references = `<one@example.com> ${answered}`
  await installation.receive({
    headers: { 'Message-ID': '<two@example.com>', References: references },
    subject: 'Re: Tea',
  })
  await installation.receive({ headers: { 'Message-ID': '<three@example.com>' } })
  await sentMails(installation, 3)
  const [first, second, third] = installation.agent.questions.map(({ sessionKey }) => sessionKey)
  expect(second).toBe(first ?? null)
  expect(third).not.toBe(first ?? null)
  expect(installation.server.received.map(({ subject }) => subject)).toEqual(['Re: Tea', 'Re: Tea', 'Re: Tea'])
})

test.each([
  'mx',
  'mx; spf=pass smtp.mailfrom="a;dmarc=pass"@eve.example',
  'mx; spf=pass smtp.mailfrom=dmarc=pass@eve.example',
  'mx (dmarc=pass; dmarc=pass); dkim=pass',
  'mx; dmarc = fail (p=none); dkim=pass',
  'mx; dmarc=pass; dmarc=none',
])(
  'POST /api/webhooks/email: with the owner’s address and %j, the mail is rejected and its sender gets no code',
  async (authentication) => {
    await using installation = await open()
    await installation.turn(true)
    const headers = { 'Authentication-Results': authentication }
    expect(await installation.receive({ headers })).toBe('rejected')
    expect(await installation.receive({ headers, from: BOB })).toBe('rejected')
    expect(
      await installation.receive({ headers: { 'Authentication-Results': 'mx; spf=fail; dmarc/1=pass (p=reject)' } }),
    ).toBe('processed')
  },
)

test('POST /api/webhooks/email: the mail is rejected when another service than EMAIL_AUTHSERV_ID verified it', async () => {
  await using installation = await open(undefined, { EMAIL_AUTHSERV_ID: 'MX.example.org' })
  await installation.turn(true)
  const receive = (value: string) => installation.receive({ headers: { 'Authentication-Results': value } })
  expect(await receive('mx.forged.example; dmarc=pass')).toBe('rejected')
  expect(await receive('mx.example.org.forged.example; dmarc=pass')).toBe('rejected')
  expect(await receive('mx.example.org; dmarc=fail')).toBe('rejected')
  expect(await receive('(checked) mx.Example.org 1; dmarc=pass')).toBe('processed')
})

test.each([
  [['mx.forged.example; dmarc=pass', '"mx.example.org" 1; dmarc=fail'], '"mx.example.org" 1; dmarc=fail'],
  [['mx.example.org; dmarc=fail', 'mx.example.org; dmarc=pass'], 'mx.example.org; dmarc=fail'],
  [['mx.forged.example; dmarc=pass'], 'mx.example.org; dmarc=none'],
  [[], 'mx.example.org; dmarc=none'],
])('findAuthentication, when the headers are %j, returns %s', (values, expected) => {
  const headers = values.map((value) => ['Authentication-Results', value] as const)
  expect(findAuthentication(headers, 'mx.example.org')).toBe(expected)
  expect(findAuthentication(headers, undefined)).toBe(values[0] ?? null)
})

const AUTOMATIC: [string, Record<string, unknown>][] = [
  ['Auto-Submitted', { headers: { 'Auto-Submitted': 'auto-replied' } }],
  ['Precedence', { headers: { Precedence: 'bulk' } }],
  ['List-Id', { headers: { 'List-Id': '<tea.example.com>' } }],
  ['Return-Path', { headers: { 'Return-Path': '<>' } }],
  ['X-Auto-Response-Suppress', { headers: { 'X-Auto-Response-Suppress': 'All' } }],
  ['a report', { headers: { 'Content-Type': 'multipart/report; report-type=delivery-status' } }],
]
test.each(AUTOMATIC)(
  'POST /api/webhooks/email: mail of a program (%s) is delivered and never answered',
  async (_name, data) => {
    await using installation = await open()
    await installation.turn(true)
    expect(await installation.receive(data)).toBe('processed')
    const kept = await until('the delivery', async () =>
      (await installation.inbox()).find(({ status }) => status === 'delivered'),
    )
    expect(kept.answer).toMatchObject({ status: 'withheld', error: expect.any(String) })
    expect(await installation.receive({ headers: { 'Auto-Submitted': 'no' } })).toBe('processed')
    await sentMails(installation, 1)
  },
)

test('POST /api/webhooks/email: two programs get at most five answers in a thread; an agent’s own mail is rejected', async () => {
  await using installation = await open()
  await installation.turn(true)
  const headers = { References: '<one@example.com>' }
  for (let mails = 0; mails < 7; mails++) expect(await installation.receive({ headers })).toBe('processed')
  const list = await until('the end', async () => {
    const all = await installation.inbox()
    const areOver = all.every(({ answer }) => answer?.status === 'sent' || answer?.status === 'withheld')
    return all.length === 7 && areOver ? all : null
  })
  expect(list.filter(({ answer }) => answer?.status === 'sent')).toHaveLength(5)
  expect(installation.server.received).toHaveLength(5)
  expect(list.find(({ answer }) => answer?.status === 'withheld')?.answer?.error).toContain('5 times in this thread')
  expect(await installation.receive({ from: installation.address })).toBe('rejected')
})

test('POST /api/agents/:id/channels/:name/pairings/:code: 200 delivers the mail of a verified stranger, who got a code once', async () => {
  await using installation = await open()
  const vouched = {
    from: `Bob <${BOB}>`,
    headers: { 'Authentication-Results': 'mx; dmarc=pass', 'Message-ID': '<b@x>' },
  }
  expect(await installation.receive(vouched)).toBe('rejected')
  await installation.turn(true)
  expect(await installation.receive({ from: BOB, headers: { 'Authentication-Results': 'mx' } })).toBe('rejected')
  expect(await installation.receive({ ...vouched, headers: { ...vouched.headers, Precedence: 'list' } })).toBe(
    'rejected',
  )
  expect(await installation.receive(vouched)).toBe('pairing')
  expect(await installation.receive(vouched)).toBe('rejected')
  await sentMails(installation, 1)
  const waiting = await installation.channel()
  expect(waiting).toMatchObject({
    connected: true,
    account: installation.address,
    people: [{ id: ADA, isConfigured: true }],
    pairings: [{ id: BOB, name: 'Bob' }],
  })
  const code = waiting?.pairings[0]?.code ?? ''
  expect(installation.server.received[0]).toMatchObject({ to: [BOB] })
  expect(installation.server.received[0]?.raw).toContain(code)
  expect(installation.agent.questions).toHaveLength(0)
  expect(
    (await installation.asStranger(`${installation.path}/mail/pairings/${code}`, 'POST', { approve: true })).status,
  ).toBe(404)
  expect(
    (await installation.asOwner(`${installation.path}/mail/pairings/${code}`, 'POST', { approve: true })).status,
  ).toBe(200)
  await sentMails(installation, 2)
  expect(await installation.receive(vouched)).toBe('processed')
  await sentMails(installation, 3)
  const person = `${installation.path}/mail/people/${encodeURIComponent(BOB)}`
  expect((await installation.asOwner(`${installation.path}/mail/people/${ADA}`, 'DELETE')).status).toBe(409)
  expect((await installation.asOwner(person, 'DELETE')).status).toBe(200)
  expect((await installation.asOwner(person, 'DELETE')).status).toBe(404)
  expect((await installation.channel())?.people).toHaveLength(1)
})

test('POST /api/agents/:id/channels/:name/pairings/:code: 404 when the code is wrong; a denied stranger gets no code within the hour', async () => {
  await using installation = await open()
  await installation.turn(true)
  const vouched = { from: BOB, headers: { 'Authentication-Results': 'mx; dmarc=pass' } }
  await installation.receive(vouched)
  const code = (await installation.channel())?.pairings[0]?.code ?? ''
  expect(
    (await installation.asOwner(`${installation.path}/mail/pairings/WRONGONE`, 'POST', { approve: false })).status,
  ).toBe(404)
  expect(
    (await installation.asOwner(`${installation.path}/mail/pairings/${code}`, 'POST', { approve: false })).status,
  ).toBe(200)
  expect(await installation.receive(vouched)).toBe('rejected')
  installation.clock.advance(61 * 60_000)
  expect(await installation.receive(vouched)).toBe('pairing')
})

test('POST /api/webhooks/email: 200 stores attachments in the workspace, and names them and unsupported ones in the message', async () => {
  await using installation = await open()
  await installation.turn(true)
  const file = (filename: string, bytes: Buffer) => ({
    filename,
    content_type: 'x/y',
    content: bytes.toString('base64'),
  })
  await installation.receive({
    attachments: [
      file('tea.txt', Buffer.from('Green tea')),
      file('x.bin', Buffer.from([0, 1, 2])),
      { filename: 'far.pdf' },
    ],
  })
  await sentMails(installation, 1)
  const [mail] = await installation.inbox()
  const path = mail?.files[0]?.path
  expect(mail?.files).toMatchObject([
    { name: 'tea.txt', path: expect.stringMatching(/^attachments\/att_\w+-tea\.txt$/), problem: null },
    { name: 'x.bin', path: null, problem: expect.stringContaining('Only PNG') },
    { name: 'far.pdf', path: null, problem: 'The mail service did not send it' },
  ])
  const asked = installation.agent.questions[0]?.message ?? ''
  expect(asked).toContain(`in your workspace at ${path}: text/plain, 9 bytes`)
  expect(asked).toContain('[Attached file x.bin, which was not kept:')
})

test('an agent gets no second request when it stopped during an answer, and the sender gets a notice', async () => {
  const interrupted = () =>
    Response.json({ error: { message: 'Interrupted', type: 'conflict', code: 'TURN_INTERRUPTED' } }, { status: 409 })
  await using installation = await open(interrupted)
  await installation.turn(true)
  await installation.receive()
  await sentMails(installation, 1)
  expect(installation.server.received[0]?.raw).toContain('I was interrupted')
  expect(await installation.inbox()).toMatchObject([
    { status: 'failed', error: 'The agent ended in the middle of its answer' },
  ])
})

test('PUT /api/agents/:id/channels/mail: 503 NOT_CONFIGURED with the missing settings, 400 when the body is invalid, 404 for a stranger', async () => {
  const installation = await agentOwner({ environment: { WEBHOOK_EMAIL_SECRET: SECRET } })
  const path = `/api/agents/${installation.agent.id}/channels/mail`
  const refused = await installation.asOwner(path, 'PUT', { isOn: true })
  expect([refused.status, await refused.json()]).toEqual([
    503,
    { error: 'Mail of agents is not configured: set AGENT_MAIL_ADDRESS, SMTP_URL', code: 'NOT_CONFIGURED' },
  ])
  expect(await read(MailChannel, installation.asOwner(path))).toEqual({
    isOn: false,
    address: null,
    missing: ['AGENT_MAIL_ADDRESS', 'SMTP_URL'],
  })
  expect((await installation.asOwner(path, 'PUT', { isOn: 'yes' })).status).toBe(400)
  expect((await installation.asOwner(path, 'PUT', { isOn: false })).status).toBe(200)
  for (const method of ['GET', 'PUT'] as const) {
    expect((await installation.asStranger(path, method, { isOn: false })).status).toBe(404)
  }
})

test('an agent with mail disabled receives mail of allowed senders and answers none', async () => {
  await using installation = await open()
  await installation.turn(true)
  await installation.turn(false)
  expect(await installation.receive()).toBe('rejected')
  expect(await installation.channel()).toBeUndefined()
})
