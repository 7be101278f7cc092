import { expect, test } from 'bun:test'
import { z } from 'zod'
import { agentOwner } from '../../../../tests/harness/agent-owner.ts'
import { mailingPlatform } from '../../../../tests/harness/mailing-platform.ts'
import { read } from '../../../../tests/harness/requests.ts'
import { write } from '../../../db/write.ts'
import { auditLog } from '../../accounts/audit/tables.ts'
import { users } from '../../accounts/users/tables.ts'
import { insertAgent } from '../../agents/registry/agents.ts'
import { requireToolOn } from '../agent-tools/settings.ts'
import { decideApproval, denyAllApprovals, expireApprovalsJob } from './decide.ts'
import { askOwner } from './requests.ts'
import { ApprovalList } from './schemas.ts'

const QUESTION = { tool: 'delete_file', arguments: '{"path":"notes/a.md"}', session: 'user:1' }
const Asked = z.object({ id: z.string(), status: z.string() })
const never = new AbortController().signal

async function openTestInstallation() {
  const owner = await agentOwner()
  const { asAgent, asOwner, platform } = owner
  const ask = async (question: object = QUESTION) => read(Asked, asAgent('/v1/approvals', 'POST', question))
  return {
    ...owner,
    ask,
    status: async (id: string) => (await read(Asked, asAgent(`/v1/approvals/${id}`))).status,
    use: (id: string, use: object = { tool: QUESTION.tool, arguments: QUESTION.arguments }) =>
      asAgent(`/v1/approvals/${id}/use`, 'POST', use),
    decide: (id: string, verb: 'approve' | 'deny') => asOwner(`/api/approvals/${id}/${verb}`, 'POST'),
    list: (query = '') => read(ApprovalList, asOwner(`/api/approvals${query}`)),
    audit: () =>
      platform.db
        .select()
        .from(auditLog)
        .all()
        .filter(({ action }) => action.startsWith('approval.'))
        .map(({ actor, action, target, detail }) => ({ actor, action, target, detail })),
  }
}

test('POST /api/approvals/:id/approve: 200 for the owner, who sees the exact call; the approval covers one use of it', async () => {
  const { ask, list, decide, use, audit, agent, user, status } = await openTestInstallation()
  const asked = await ask()
  expect(asked).toMatchObject({ status: 'waiting' })
  expect((await list('?status=waiting')).approvals).toMatchObject([
    { ...QUESTION, id: asked.id, agentId: agent.id, agentName: 'Bo', status: 'waiting', decidedVia: null },
  ])
  expect((await use(asked.id)).status).toBe(409)
  const approved = await decide(asked.id, 'approve')
  expect([approved.status, await approved.json()]).toMatchObject([200, { approval: { status: 'approved' } }])
  const other = { tool: QUESTION.tool, arguments: '{"path":"notes/b.md"}' }
  expect((await use(asked.id, other)).status).toBe(409)
  expect((await use(asked.id, { ...other, arguments: QUESTION.arguments, tool: 'shell' })).status).toBe(409)
  expect((await use(asked.id)).status).toBe(200)
  const again = await use(asked.id)
  expect([again.status, await again.json()]).toEqual([
    409,
    { error: 'The owner has not approved that', code: 'NOT_APPROVED' },
  ])
  expect(await status(asked.id)).toBe('used')
  expect(audit()).toMatchObject([
    { actor: user.id, action: 'approval.approved', target: agent.id, detail: { approvalId: asked.id, via: 'web' } },
    { actor: agent.id, action: 'approval.used', target: agent.id, detail: { approvalId: asked.id } },
  ])
})

test('POST /v1/approvals/:id/use: 200 for one of three concurrent uses, 409 for the others', async () => {
  const { ask, decide, use } = await openTestInstallation()
  const { id } = await ask()
  await decide(id, 'approve')
  const statuses = (await Promise.all([use(id), use(id), use(id)])).map(({ status }) => status)
  expect(statuses.sort()).toEqual([200, 409, 409])
})

test('POST /v1/approvals: 200 with the existing request when it is pending, or approved and unused', async () => {
  const { ask, decide, use, list } = await openTestInstallation()
  const first = await ask()
  expect((await ask()).id).toBe(first.id)
  await decide(first.id, 'approve')
  expect(await ask()).toMatchObject({ id: first.id, status: 'approved' })
  await use(first.id)
  const second = await ask()
  expect(second.id).not.toBe(first.id)
  await decide(second.id, 'deny')
  expect((await ask()).id).not.toBe(second.id)
  expect((await list()).approvals.map(({ status }) => status)).toEqual(['waiting', 'denied', 'used'])
})

test('POST /api/approvals/:id/approve: 409 when the request has expired, and the audit entry names no user', async () => {
  const { ask, decide, status, clock, platform, audit, use, list, agent } = await openTestInstallation()
  const { id } = await ask()
  const approved = await ask({ ...QUESTION, tool: 'shell' })
  await decide(approved.id, 'approve')
  clock.advance(60 * 60_000)
  expect(await status(id)).toBe('expired')
  expect((await list('?status=waiting')).approvals).toEqual([])
  const late = await decide(id, 'approve')
  expect([late.status, await late.json()]).toMatchObject([409, { code: 'NOT_WAITING' }])
  expect((await use(approved.id, { tool: 'shell', arguments: QUESTION.arguments })).status).toBe(409)
  await expireApprovalsJob(platform).run(never)
  expect((await list()).approvals.map((one) => one.status)).toEqual(['expired', 'expired'])
  const expired = audit().filter(({ action }) => action === 'approval.expired')
  expect(expired.map(({ actor, target }) => [actor, target])).toEqual(Array(2).fill(['system', agent.id]))
  expect(JSON.stringify(expired)).toContain(id)
})

test('GET /v1/approvals/:id?wait=: 200 when the owner decides; 400 above 30 s', async () => {
  const { ask, asAgent, decide } = await openTestInstallation()
  const { id } = await ask()
  const waiting = asAgent(`/v1/approvals/${id}?wait=30`)
  await decide(id, 'deny')
  expect(await (await waiting).json()).toMatchObject({ id, status: 'denied' })
  expect((await asAgent(`/v1/approvals/${id}?wait=31`)).status).toBe(400)
})

test('POST /api/approvals/:id/approve and POST /api/approvals/:id/deny: 404 for a stranger, 409 when decided, 401 without a session', async () => {
  const { ask, asStranger, asAgent, strangersAgent, decide, agent, web, asOwner, status } = await openTestInstallation()
  const { id } = await ask()
  for (const verb of ['approve', 'deny'])
    expect((await asStranger(`/api/approvals/${id}/${verb}`, 'POST')).status).toBe(404)
  expect((await asStranger(`/api/approvals?agentId=${agent.id}`)).status).toBe(404)
  expect(await (await asStranger('/api/approvals')).json()).toEqual({ approvals: [], next: null })
  expect((await asAgent(`/v1/approvals/${id}`, 'GET', undefined, strangersAgent.headers)).status).toBe(404)
  const use = { tool: QUESTION.tool, arguments: QUESTION.arguments }
  expect((await asAgent(`/v1/approvals/${id}/use`, 'POST', use, strangersAgent.headers)).status).toBe(404)
  expect((await web.request(`/api/approvals/${id}/approve`, { method: 'POST' })).status).toBe(401)
  expect((await asAgent('/v1/approvals', 'POST', QUESTION, { authorization: 'Bearer agt_wrong' })).status).toBe(401)
  expect((await asOwner('/api/approvals/apr_none/deny', 'POST')).status).toBe(404)
  expect(await status(id)).toBe('waiting')
  await decide(id, 'deny')
  expect((await decide(id, 'approve')).status).toBe(409)
})

test('GET /api/approvals: 200 with pages, newest first; 400 when the status is unknown', async () => {
  const { ask, list, asOwner } = await openTestInstallation()
  for (const number of [1, 2, 3]) await ask({ ...QUESTION, arguments: `{"path":"${number}"}` })
  const first = await list('?limit=2')
  expect(first.approvals.map((one) => one.arguments)).toEqual(['{"path":"3"}', '{"path":"2"}'])
  const second = await list(`?limit=2&before=${first.next}`)
  expect(second).toMatchObject({ approvals: [{ arguments: '{"path":"1"}' }], next: null })
  expect((await asOwner('/api/approvals?status=maybe')).status).toBe(400)
})

test('POST /v1/approvals: 400 when the arguments are no object, 429 at 20 open requests, 403 for an agent without an owner', async () => {
  const { ask, asAgent, add } = await openTestInstallation()
  for (const text of ['', '[]', '"x"', '{', 'null'])
    expect((await asAgent('/v1/approvals', 'POST', { ...QUESTION, arguments: text })).status).toBe(400)
  for (let number = 0; number < 20; number++) await ask({ ...QUESTION, arguments: `{"n":${number}}` })
  expect((await asAgent('/v1/approvals', 'POST', QUESTION)).status).toBe(429)
  const ownerless = await add(null)
  const refused = await asAgent('/v1/approvals', 'POST', QUESTION, ownerless.headers)
  expect([refused.status, await refused.json()]).toMatchObject([403, { code: 'NO_OWNER' }])
})

test('decideApproval decides for the owner when a channel does, and denies open requests when the owner changes', async () => {
  const { ask, platform, user, stranger, status, audit, clock } = await openTestInstallation()
  const { id } = await ask()
  const decide = (userId: string) => decideApproval(platform, { userId, via: 'telegram' }, id, 'approved')
  expect(decide(stranger.user.id)).rejects.toThrow('Approval not found')
  await decide(user.id)
  expect(audit()).toMatchObject([{ action: 'approval.approved', detail: { via: 'telegram' } }])
  const waiting = await ask({ ...QUESTION, tool: 'shell' })
  await write(platform.db, (tx) => denyAllApprovals(tx, user.id, clock.now()))
  expect([await status(id), await status(waiting.id)]).toEqual(['denied', 'denied'])
})

test('POST /v1/approvals: 201 and one mail for several requests, without text of the agent', async () => {
  await using test = await mailingPlatform()
  const { platform, clock } = test
  await test.signUp('ada@example.com', 'correct horse battery staple')
  const owner = platform.db.select().from(users).get()
  if (!owner) throw new Error('Ada has not signed up')
  const kind = { name: 'Bo', model: 'm', plan: 'label', aiProvider: 'openrouter', status: 'running' } as const
  const agent = await write(platform.db, (tx) =>
    insertAgent({ clock, sealer: platform.sealer }, tx, { ...kind, ownerId: owner.id }),
  )
  await askOwner({ ...platform, requireToolOn }, agent.id, QUESTION)
  await askOwner({ ...platform, requireToolOn }, agent.id, { ...QUESTION, tool: 'shell' })
  const mail = await test.arrival('ada@example.com', 'needs your approval')
  expect(JSON.stringify(mail)).not.toContain('notes/a.md')
  clock.advance(11 * 60_000)
  await askOwner({ ...platform, requireToolOn }, agent.id, { ...QUESTION, tool: 'move_file' })
  await test.arrival('ada@example.com', 'needs your approval', 2)
  expect(test.mail.received.filter(({ subject }) => subject.includes('approval'))).toHaveLength(2)
})

test('POST /v1/approvals: 201 with arguments as canonical JSON, 400 when that is impossible', async () => {
  const { ask, list, use, decide, asAgent } = await openTestInstallation()
  const spaced = '{ "path": "notes/a.md", "n": 1e3, "path": "notes/b.md" }'
  const asked = await ask({ ...QUESTION, arguments: spaced })
  expect((await list()).approvals[0]?.arguments).toBe('{"path":"notes/b.md","n":1000}')
  await decide(asked.id, 'approve')
  expect((await use(asked.id, { tool: QUESTION.tool, arguments: '{"path":"notes/a.md","n":1000}' })).status).toBe(409)
  expect((await use(asked.id, { tool: QUESTION.tool, arguments: spaced })).status).toBe(200)
  const deep = `{"a":${'['.repeat(31_000)}${']'.repeat(31_000)}}`
  expect((await asAgent('/v1/approvals', 'POST', { ...QUESTION, arguments: deep })).status).toBeLessThan(500)
})
