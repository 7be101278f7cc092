import { type Context, Hono } from 'hono'
import { answers, Done } from '../../../http/answers.ts'
import type { OnceEnv, SignedInUser, WebEnv } from '../../../http/env.ts'
import type { Idempotency } from '../../../http/idempotency.ts'
import { routeTraits } from '../../../http/route-traits.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import type { AgentRow } from '../../agents/registry/tables.ts'
import { enableSkill, installSkill, removeSkill } from './install.ts'
import { getSkillDetail, listMarketplace, toSkill } from './marketplace.ts'
import { createOwnSkill, deleteOwnSkill } from './own.ts'
import type { RunnerDeps } from './runners/calls.ts'
import { factsOf } from './runners/runners.ts'
import {
  ChangedSkill,
  CreatedSkill,
  CreateSkillRequest,
  EnableRequest,
  InstallRequest,
  InstallResponse,
  Marketplace,
  ShownSkill,
  SkillQuery,
  SkillResult,
  UseSkillRequest,
} from './schemas.ts'
import type { InstalledSkillRow } from './tables.ts'
import { callSkill } from './use.ts'

export type SkillsWebDeps = RunnerDeps & { guards: Guards; idempotency: Idempotency }

const marketplaceAnswers = answers({ 200: Marketplace })
const installAnswers = answers({ 200: InstallResponse }, 'payment_required', 'not_found', 'limited')
const enableAnswers = answers({ 200: ChangedSkill }, 'payment_required', 'not_found', 'limited')
const removeAnswers = answers({ 200: Done })
const createAnswers = answers({ 200: CreatedSkill }, 'conflict', 'limited')
const showAnswers = answers({ 200: ShownSkill }, 'invalid', 'not_found')
const useAnswers = answers({ 200: SkillResult }, 'payment_required', 'not_found', 'conflict')
const payAnswers = answers({ 200: SkillResult }, 'payment_required', 'not_found', 'unavailable')
const useNamedAnswers = answers({ 200: SkillResult }, 'payment_required', 'not_found', 'upstream_failed', 'unavailable')
const deleteAnswers = answers({ 200: Done }, 'not_found')

/** What agents can learn, and what users can have done by it (Interface 4.15). Anybody may look. */
export function skillsWeb(deps: SkillsWebDeps) {
  const app = new Hono<WebEnv & OnceEnv>()
  const { signedIn, findUser } = deps.guards

  app.get('/api/skills', marketplaceAnswers, validate('query', SkillQuery), async (c) => {
    const user: SignedInUser | null = await findUser(c)
    return c.json(listMarketplace(deps.db, user, c.req.valid('query')))
  })

  app.post(
    '/api/skills',
    installAnswers,
    routeTraits({ scope: 'agents' }),
    signedIn,
    validate('json', InstallRequest),
    async (c) => {
      const { row, agent } = await installSkill(deps, c.var.user, c.req.valid('json'))
      return c.json(toInstallResponse(row, agent))
    },
  )

  app.patch(
    '/api/skills',
    enableAnswers,
    routeTraits({ scope: 'agents' }),
    signedIn,
    validate('json', EnableRequest),
    async (c) =>
      c.json({ success: true, installed: toInstalled(await enableSkill(deps, c.var.user, c.req.valid('json'))) }),
  )

  app.delete(
    '/api/skills',
    removeAnswers,
    routeTraits({ scope: 'agents' }),
    signedIn,
    validate('json', InstallRequest),
    async (c) => {
      await removeSkill(deps, c.var.user, c.req.valid('json'))
      return c.json({ success: true })
    },
  )

  app.post(
    '/api/skills/create',
    createAnswers,
    routeTraits({ scope: 'agents' }),
    signedIn,
    validate('json', CreateSkillRequest),
    async (c) => {
      const skill = await createOwnSkill(deps, c.var.user.id, c.req.valid('json'))
      return c.json({ success: true, skill: toSkill(skill, 0) })
    },
  )

  const showSkill = async (c: Context<WebEnv & OnceEnv>, name: string) => {
    const user = await findUser(c)
    const detail = getSkillDetail(deps.db, user?.id ?? null, name)
    return c.json(detail.source === 'built-in' ? { ...detail, ...factsOf(name) } : detail)
  }
  app.get('/api/skills/booking-settlement', showAnswers, (c) => showSkill(c, 'booking-settlement'))
  app.get('/api/skills/instant-split', showAnswers, (c) => showSkill(c, 'instant-split'))
  app.get('/api/skills/:name', showAnswers, (c) => showSkill(c, c.req.param('name')))

  app.route('/', callSkillWeb(deps))
  return app
}

/** What skills do for who calls them. */
function callSkillWeb(deps: SkillsWebDeps) {
  const app = new Hono<WebEnv & OnceEnv>()
  const { signedIn } = deps.guards

  // Skills that spend: a key for agents alone does not open them.
  const spends = routeTraits({ scope: 'payments' })
  const body = validate('json', UseSkillRequest)
  const { forUser } = deps.idempotency

  app.post('/api/skills/booking-settlement', useAnswers, spends, signedIn, body, forUser, (c) =>
    answerCall(deps, c, 'booking-settlement', c.req.valid('json')),
  )

  app.post('/api/skills/event-ticketing', useAnswers, spends, signedIn, body, forUser, (c) =>
    answerCall(deps, c, 'event-ticketing', c.req.valid('json')),
  )

  app.post('/api/skills/instant-split', payAnswers, spends, signedIn, body, forUser, (c) =>
    answerCall(deps, c, 'instant-split', c.req.valid('json')),
  )

  app.post('/api/skills/:name', useNamedAnswers, routeTraits({ scope: 'agents' }), signedIn, body, forUser, (c) =>
    answerCall(deps, c, c.req.param('name'), c.req.valid('json')),
  )

  app.delete('/api/skills/:name', deleteAnswers, routeTraits({ scope: 'agents' }), signedIn, async (c) => {
    await deleteOwnSkill(deps, c.var.user.id, c.req.param('name'))
    return c.json({ success: true })
  })

  return app
}

async function answerCall(deps: SkillsWebDeps, c: Context<WebEnv & OnceEnv>, name: string, body: UseSkillRequest) {
  // A model may take longer than a listener keeps a silent connection.
  c.env.keepOpen?.(c.req.raw)
  const { user, once } = c.var
  return c.json(await callSkill(deps, name, { user, body, signal: c.req.raw.signal, once }))
}

/** Agents of our own runtime ask for their skills at every turn; others have to be told by their owner. */
function toInstallResponse(row: InstalledSkillRow, agent: AgentRow): InstallResponse {
  const deployed = agent.kind === 'stead'
  const deployWarning = 'This agent runs on another runtime, which does not load skills from here'
  return { success: true, installed: toInstalled(row), deployed, ...(!deployed && { deployWarning }) }
}

function toInstalled({ id, userId, agentId, skillId, enabled, createdAt }: InstalledSkillRow) {
  return { id, userId, agentId, skillId, enabled, createdAt: createdAt.toISOString() }
}
