import { expect, test } from 'bun:test'
import { Webhook } from 'standardwebhooks'
import { ChangedWebhookChannel } from '../../src/features/conversations/webhook-channel/schemas.ts'
import { createAgent, type Person, signUp } from '../harness/client.ts'
import { startMailServer } from '../harness/doubles/mail-server.ts'
import { startProvider } from '../harness/doubles/provider.ts'
import { startReceiver } from '../harness/doubles/receivers.ts'
import { openObserver } from '../harness/killing.ts'
import { json, read } from '../harness/requests.ts'
import { openInstallation } from '../harness/server.ts'
import { until } from '../harness/until.ts'
import { withProvider } from '../integration/journeys/main-job.ts'

const LIMIT_MS = 600_000
const MAIL_SECRET = `whsec_${Buffer.from('a secret of the mail service').toString('base64')}`
const ADA = 'ada@example.com'

/** A channel that receives messages over HTTP and posts replies. */
type Way = {
  environment: Record<string, string>
  /** Enables the channel for an agent. @returns a function that sends a message. */
  open(person: Person, agentId: string): Promise<(text: string) => Promise<number>>
  /** Replies received so far. */
  received(): string[]
  stop(): Promise<void>
}

/** Signs and sends a message as its service does, with a unique id. */
async function post(url: string, prefix: 'svix' | 'webhook', secret: string, content: object): Promise<number> {
  const body = JSON.stringify(content)
  const now = new Date()
  const id = `msg_${crypto.randomUUID()}`
  const headers = {
    [`${prefix}-id`]: id,
    [`${prefix}-timestamp`]: String(Math.floor(now.getTime() / 1000)),
    [`${prefix}-signature`]: new Webhook(secret).sign(id, now, body),
  }
  return (await fetch(url, { method: 'POST', headers, body })).status
}

async function openMail(): Promise<Way> {
  const server = await startMailServer()
  return {
    environment: {
      WEBHOOK_EMAIL_SECRET: MAIL_SECRET,
      SMTP_URL: server.url,
      MAIL_FROM: 'Stead <house@stead.example>',
      AGENT_MAIL_ADDRESS: 'post+{agent}@agents.example',
      EMAIL_ALLOWED_SENDERS: ADA,
    },
    async open({ web, cookie }, agentId) {
      const turned = await fetch(`${web}/api/agents/${agentId}/channels/mail`, json('PUT', { isOn: true }, cookie))
      expect(turned.status).toBe(200)
      return (text) => {
        const headers = { 'Authentication-Results': 'mx; dmarc=pass' }
        const data = { from: ADA, to: `post+${agentId}@agents.example`, subject: 'Tea', text, headers }
        return post(`${web}/api/webhooks/email`, 'svix', MAIL_SECRET, { type: 'email.received', data })
      }
    },
    received: () => server.received.map((mail) => JSON.stringify(mail)),
    stop: async () => server[Symbol.asyncDispose](),
  }
}

async function openWebhook(): Promise<Way> {
  const receiver = await startReceiver()
  return {
    environment: { SUMMARIZER_ALLOW_PRIVATE: 'true' },
    async open({ web, cookie }, agentId) {
      const set = fetch(`${web}/api/agents/${agentId}/webhook-channel`, json('PUT', { url: receiver.url }, cookie))
      const { secret } = await read(ChangedWebhookChannel, set)
      return (text) => post(`${web}/api/webhooks/agents/${agentId}`, 'webhook', secret ?? '', { text })
    },
    received: () => receiver.deliveries.map(({ body }) => body),
    stop: async () => receiver[Symbol.asyncDispose](),
  }
}

test.each([
  ['mail', openMail, '/api/webhooks/email'],
  ['webhook', openWebhook, '/api/webhooks/agents/:id'],
] as const)(
  'an agent on %s answers once when the platform restarts and is killed during an answer',
  async (_name, openWay) => {
    const way = await openWay()
    await using _ = { [Symbol.asyncDispose]: way.stop }
    const held = Promise.withResolvers<void>()
    await using provider = await startProvider(async ({ body }) => {
      const question = String(body.messages.findLast(({ role }) => role === 'user')?.content)
      const word = /ask-\w+/.exec(question)?.[0]
      if (word === 'ask-slowly') await held.promise
      return { text: `Told of ${word}.` }
    })
    await using installation = await openInstallation({
      environment: { ...withProvider(provider), ...way.environment },
    })
    const program = await installation.start()
    const ada = await signUp(program.urls.web)
    const agentId = await createAgent(ada, { model: 'openai/gpt-4o-mini' })
    const say = await way.open(ada, agentId)
    const answersTo = (word: string) => way.received().filter((text) => text.includes(`Told of ${word}.`))

    expect(await say('ask-first')).toBeLessThan(300)
    await until('an answer', () => answersTo('ask-first').length === 1)
    await program.stop()
    const again = await installation.start()
    expect(await say('ask-second')).toBeLessThan(300)
    await until('an answer after a restart', () => answersTo('ask-second').length === 1)
    // If a kill precedes the record of the delivery, the platform sends the reply again.
    using observer = openObserver(installation.dataDir)
    await observer.expectIdle()

    expect(await say('ask-slowly')).toBeLessThan(300)
    const isAsked = () => provider.chats.some(({ body }) => JSON.stringify(body).includes('ask-slowly'))
    await until('the question to the model', isAsked)
    const before = way.received().length
    await again.kill()
    held.resolve()
    await installation.start()
    await until('the answer, or why there is none', () => way.received().length > before)
    expect(await say('ask-last')).toBeLessThan(300)
    await until('the next answer', () => answersTo('ask-last').length === 1)
    expect(way.received()).toHaveLength(before + 2)
  },
  LIMIT_MS,
)
