import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { z } from 'zod'
import { startMailServer } from '../../../../tests/harness/doubles/mail-server.ts'
import { startJobs } from '../../../../tests/harness/jobs.ts'
import { testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json, read } from '../../../../tests/harness/requests.ts'
import { until } from '../../../../tests/harness/until.ts'
import type { Runtime } from '../../../adapters/runtimes/contract/runtime.ts'
import { createNoRuntime } from '../../../adapters/runtimes/contract/runtimes.ts'
import { listShownSettings } from '../../../core/settings/show.ts'
import { VERSION } from '../../../core/version.ts'
import { write } from '../../../db/write.ts'
import { jobs } from '../../../jobs/tables.ts'
import { auditLog } from '../../accounts/audit/tables.ts'
import { createKey } from '../../accounts/keys/keys.ts'
import { users } from '../../accounts/users/tables.ts'
import { insertAgent } from '../../agents/registry/agents.ts'
import { agents } from '../../agents/registry/tables.ts'
import {
  JobList,
  MailTest,
  NamedAuditList,
  OverseenAgentList,
  PlatformHealth,
  RetriedJob,
  StoppedAgent,
} from './schemas.ts'

const ADMIN = 'root@example.com'
const Refusal = z.object({ error: z.string(), code: z.string().optional() })

/** An installation with an admin and a second user, Ada, who has agents. */
async function installation(environment: Record<string, string> = {}) {
  const runtime: Runtime = { ...createNoRuntime('process', 'No test asks for this'), inspect: async () => null }
  const test = testPlatform({ runtime, environment: { ADMIN_EMAILS: ADMIN, ...environment } })
  const { platform, clock, web } = test
  const admin = await test.signIn(ADMIN)
  const ada = await test.signIn('ada@example.com')
  const addAgent = (name: string, ownerId: string | null = ada.user.id) =>
    write(platform.db, (tx) =>
      insertAgent({ clock, sealer: platform.sealer }, tx, {
        ownerId,
        name,
        model: 'openai/gpt-4o-mini',
        plan: 'solo',
        aiProvider: 'openrouter',
        status: 'running',
      }),
    )
  const addJob = async (id: string, row: Partial<typeof jobs.$inferInsert> = {}) => {
    const now = clock.now()
    const dead = {
      kind: 'accounts.mail',
      payload: { secret: 'what it is about' },
      status: 'dead',
      attempts: 24,
    } as const
    const values = { id, ...dead, lastError: 'no route to host', runAt: now, createdAt: now, finishedAt: now, ...row }
    await write(platform.db, (tx) => tx.insert(jobs).values(values).run())
  }
  return {
    ...test,
    admin,
    ada,
    addAgent,
    addJob,
    get: (path: string, cookie = admin.cookie) => web.request(path, { headers: cookie }),
    post: (path: string, cookie = admin.cookie) => web.request(path, json('POST', {}, cookie)),
    audit: () => platform.db.select().from(auditLog).all(),
  }
}

test.each([
  ['GET', '/api/admin/agents'],
  ['POST', '/api/admin/agents/agent-1/stop'],
  ['GET', '/api/admin/jobs'],
  ['POST', '/api/admin/jobs/job_1/retry'],
  ['GET', '/api/admin/health'],
  ['GET', '/api/admin/settings'],
  ['POST', '/api/admin/mail/test'],
] as const)('%s %s: 401 without a session and for keys, 403 ADMIN_REQUIRED for other users', async (method, path) => {
  const { web, platform, clock, ada, admin, audit } = await installation()
  const ask = (headers: Record<string, string>) =>
    web.request(path, method === 'POST' ? json('POST', {}, headers) : { headers })
  const { key } = await createKey({ db: platform.db, clock }, admin.user.id, { name: 'k' })
  for (const headers of [{}, bearer(key)]) expect((await ask(headers)).status).toBe(401)
  const response = await ask(ada.cookie)
  expect([response.status, await read(Refusal, response)]).toEqual([
    403,
    { error: 'Admin access required.', code: 'ADMIN_REQUIRED' },
  ])
  expect(audit()).toEqual([])
})

test('GET /api/admin/agents: 200 with all users’ agents in pages, searchable by name, id and owner, counted by status', async () => {
  const { addAgent, get, clock, platform } = await installation()
  const ids: string[] = []
  for (const name of ['Harbour', 'Night watch', 'Orphan']) {
    clock.advance(1000)
    ids.unshift((await addAgent(name, name === 'Orphan' ? null : undefined)).id)
  }
  const list = (query = '') => read(OverseenAgentList, get(`/api/admin/agents${query}`))
  const first = await list('?limit=2')
  const second = await list(`?limit=2&after=${first.next}`)
  expect([...first.agents, ...second.agents].map(({ id }) => id)).toEqual(ids)
  expect(second.next).toBeNull()
  expect(first.statuses).toEqual({ running: 3 })
  expect(first.agents[0]).toMatchObject({ name: 'Orphan', owner: null, runtime: null })
  const found = async (search: string) => (await list(`?search=${search}`)).agents.map(({ name }) => name)
  expect(await found('NIGHT')).toEqual(['Night watch'])
  expect(await found('ada@example')).toEqual(['Night watch', 'Harbour'])
  expect(await found(ids[0] ?? '')).toEqual(['Orphan'])
  expect(await found('%25')).toEqual([])
  await write(platform.db, (tx) =>
    tx.update(agents).set({ status: 'error', lastError: 'no space left' }).where(eq(agents.name, 'Harbour')).run(),
  )
  const broken = await list('?status=error')
  expect(broken).toMatchObject({ statuses: { running: 2, error: 1 }, agents: [{ lastError: 'no space left' }] })
})

test.each(['limit=0', 'status=asleep', 'after=agent-missing'])('GET /api/admin/agents?%s: 400', async (query) => {
  expect((await (await installation()).get(`/api/admin/agents?${query}`)).status).toBe(400)
})

test('POST /api/admin/agents/:id/stop: 200 stops another user’s agent and writes an audit entry; 404 when it is missing', async () => {
  const { addAgent, post, admin, audit } = await installation()
  const { id } = await addAgent('Harbour')
  const { agent } = await read(StoppedAgent, post(`/api/admin/agents/${id}/stop`))
  expect(agent).toMatchObject({ id, status: 'stopped', owner: { email: 'ada@example.com' } })
  expect(audit()).toMatchObject([
    { actor: admin.user.id, action: 'agent.stop', target: id, detail: { name: 'Harbour' }, address: '203.0.113.7' },
  ])
  expect((await post('/api/admin/agents/agent-missing/stop')).status).toBe(404)
  expect(audit()).toHaveLength(1)
})

test('GET /api/admin/jobs: 200 by state and in pages, without payloads', async () => {
  const { addJob, get, clock } = await installation()
  for (const id of ['job_1', 'job_2', 'job_3']) {
    await addJob(id)
    clock.advance(1000)
  }
  await addJob('job_4', { status: 'queued', attempts: 0, finishedAt: null, lastError: null })
  const first = await get('/api/admin/jobs?limit=2')
  expect(await first.clone().text()).not.toContain('what it is about')
  const page = await read(JobList, first)
  expect(page.jobs.map(({ id }) => id)).toEqual(['job_3', 'job_2'])
  expect(page.counts).toEqual({ queued: 1, running: 0, dead: 3 })
  expect(page.jobs[0]).toMatchObject({ kind: 'accounts.mail', attempts: 24, lastError: 'no route to host' })
  const next = await read(JobList, get(`/api/admin/jobs?limit=2&after=${page.next}`))
  expect(next).toMatchObject({ jobs: [{ id: 'job_1' }], next: null })
  expect((await read(JobList, get('/api/admin/jobs?state=queued'))).jobs).toMatchObject([{ id: 'job_4' }])
})

test.each(['limit=0', 'state=lost', 'after=job_missing'])('GET /api/admin/jobs?%s: 400', async (query) => {
  expect((await (await installation()).get(`/api/admin/jobs?${query}`)).status).toBe(400)
})

test('POST /api/admin/jobs/:id/retry: 200 queues a dead job again and adds an audit entry', async () => {
  const { addJob, post, platform, audit } = await installation()
  await using _jobs = startJobs(platform)
  await addJob('job_1', { payload: { mail: 'verify-email', userId: null } })
  const { job } = await read(RetriedJob, post('/api/admin/jobs/job_1/retry'))
  expect(job).toMatchObject({ id: 'job_1', attempts: 0, finishedAt: null, canRetry: false })
  await until('the job to be done', () =>
    platform.db.select().from(jobs).where(eq(jobs.id, 'job_1')).get()?.status === 'done' ? true : undefined,
  )
  expect(audit()).toMatchObject([{ action: 'job.retry', target: 'job_1', detail: { kind: 'accounts.mail' } }])
})

test('POST /api/admin/jobs/:id/retry: 409 when the job is not dead or its failure was reported, 404 when it is missing', async () => {
  const { addJob, post, platform, audit, get } = await installation()
  await using _jobs = startJobs(platform)
  await addJob('job_1', { status: 'done' })
  await addJob('job_2', { kind: 'video.generate' })
  await addJob('job_3', { kind: 'no.such.kind' })
  for (const id of ['job_1', 'job_2', 'job_3']) {
    expect((await post(`/api/admin/jobs/${id}/retry`)).status).toBe(409)
  }
  expect((await read(JobList, get('/api/admin/jobs'))).jobs.map(({ canRetry }) => canRetry)).toEqual([false, false])
  expect((await post('/api/admin/jobs/job_missing/retry')).status).toBe(404)
  expect(audit()).toEqual([])
})

test('GET /api/admin/health: 200 with failing parts, sizes and counts by state', async () => {
  const { addAgent, addJob, get } = await installation({ MIN_FREE_DISK_MB: '1' })
  await addAgent('Harbour')
  await addJob('job_1')
  const health = await read(PlatformHealth, get('/api/admin/health'))
  // The runtime of the tests does not answer.
  expect(health).toMatchObject({ version: VERSION, failing: ['runtime'], mail: 'log', minFreeDiskBytes: 1024 * 1024 })
  expect(health).toMatchObject({ agents: { running: 1 }, jobs: { dead: 1 } })
  expect(health.freeDiskBytes).toBeGreaterThan(0)
  expect(health.processBytes).toBeGreaterThan(1_000_000)
})

test('POST /api/admin/mail/test: 200 with the mail server’s result; 503 NOT_CONFIGURED without a mail server', async () => {
  await using mail = await startMailServer()
  const { post, admin, platform } = await installation({ SMTP_URL: mail.url, RATE_LIMIT_PASSWORD: '3' })
  await write(platform.db, (tx) =>
    tx.update(users).set({ emailVerifiedAt: new Date() }).where(eq(users.id, admin.user.id)).run(),
  )
  const send = () => read(MailTest, post('/api/admin/mail/test'))
  expect(await send()).toEqual({ to: ADMIN, delivered: true, error: null })
  expect(mail.received).toMatchObject([{ to: [ADMIN], subject: 'Test email' }])
  mail.refuse('greylisted, try later')
  expect(await send()).toMatchObject({ delivered: false, error: expect.stringContaining('greylisted') })
  await send()
  expect((await post('/api/admin/mail/test')).status).toBe(429)

  const response = await (await installation()).post('/api/admin/mail/test')
  expect([response.status, await read(Refusal, response)]).toEqual([
    503,
    { error: 'Mail is not configured: set SMTP_URL', code: 'NOT_CONFIGURED' },
  ])
})

test('GET /api/admin/settings: 200 with the settings in effect', async () => {
  const shownSettings = listShownSettings({ WEB_PORT: '4000' }, { WEB_PORT: 'flag' })
  const { web, signIn } = testPlatform({ environment: { ADMIN_EMAILS: ADMIN }, shownSettings })
  const { cookie } = await signIn(ADMIN)
  const response = await web.request('/api/admin/settings', { headers: cookie })
  expect(await response.json()).toEqual({ settings: JSON.parse(JSON.stringify(shownSettings)) })
})

test('GET /api/admin/audit: 200 with the names of existing accounts and agents', async () => {
  const { addAgent, post, get, admin } = await installation()
  const { id } = await addAgent('Harbour')
  await post(`/api/admin/agents/${id}/stop`)
  const { entries, names } = await read(NamedAuditList, get('/api/admin/audit'))
  expect(entries).toHaveLength(1)
  expect(names).toEqual({ [admin.user.id]: ADMIN, [id]: 'Harbour' })
})
