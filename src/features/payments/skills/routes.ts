import { type Context, Hono } from 'hono'
import type { Db } from '../../../db/open.ts'
import { Done, endpoint, type Responses, type RouteOptions } from '../../../http/endpoint.ts'
import type { OnceEnv, SignedInUser, WebEnv } from '../../../http/env.ts'
import type { Idempotency } from '../../../http/idempotency.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import type { AgentRow } from '../../agents/registry/tables.ts'
import { type AgentCallerEnv, type CallerFinder, requireAgent } from '../../ai/gateway/callers.ts'
import { createOwnSkill, deleteOwnSkill, enableSkill, installSkill, removeSkill } from './install.ts'
import { getSkillDetail, listAgentSkills, listMarketplace, toSkill } from './marketplace.ts'
import type { RunnerDeps } from './runners/calls.ts'
import { factsOf } from './runners/runners.ts'
import {
  ChangedSkill,
  CreatedSkill,
  CreateSkillRequest,
  EnableRequest,
  InstallRequest,
  InstallResponse,
  LoadedSkillList,
  Marketplace,
  ShownSkill,
  SkillQuery,
  SkillResult,
  UseSkillRequest,
} from './schemas.ts'
import type { InstalledSkillRow } from './tables.ts'
import { callSkill } from './use.ts'

type SkillsWebDeps = RunnerDeps & { guards: Guards; idempotency: Idempotency }

const marketplaceAnswers: Responses = { responses: { 200: Marketplace } }
const installAnswers: Responses = {
  responses: { 200: InstallResponse },
  errors: ['payment_required', 'not_found', 'limited'],
}
const enableAnswers: Responses = {
  responses: { 200: ChangedSkill },
  errors: ['payment_required', 'not_found', 'limited'],
}
const removeAnswers: Responses = { responses: { 200: Done } }
const createAnswers: Responses = { responses: { 200: CreatedSkill }, errors: ['conflict', 'limited'] }
const showAnswers: Responses = { responses: { 200: ShownSkill }, errors: ['invalid', 'not_found'] }
const useAnswers: Responses = { responses: { 200: SkillResult }, errors: ['payment_required', 'not_found', 'conflict'] }
const payAnswers: Responses = {
  responses: { 200: SkillResult },
  errors: ['payment_required', 'not_found', 'unavailable'],
}
const useNamedAnswers: Responses = {
  responses: { 200: SkillResult },
  errors: ['payment_required', 'not_found', 'upstream_failed', 'unavailable'],
}
const deleteAnswers: Responses = { responses: { 200: Done }, errors: ['not_found'] }

/** Marketplace, installation and use of skills. Listing needs no account. */
export function skillsWeb(deps: SkillsWebDeps) {
  const app = new Hono<WebEnv & OnceEnv>()
  const { signedIn, findUser } = deps.guards

  app.get(
    '/api/skills',
    endpoint({ summary: 'Lists marketplace and installed skills', tag: 'Skills', ...marketplaceAnswers }),
    validate('query', SkillQuery),
    async (c) => {
      const user: SignedInUser | null = await findUser(c)
      return c.json(listMarketplace(deps.db, user, c.req.valid('query')))
    },
  )

  app.post(
    '/api/skills',
    endpoint({ summary: 'Installs a skill on an agent', tag: 'Skills', ...installAnswers, scope: 'agents' }),
    signedIn,
    validate('json', InstallRequest),
    async (c) => {
      const { row, agent } = await installSkill(deps, c.var.user, c.req.valid('json'))
      return c.json(toInstallResponse(row, agent))
    },
  )

  app.patch(
    '/api/skills',
    endpoint({ summary: 'Enables or disables an installed skill', tag: 'Skills', ...enableAnswers, scope: 'agents' }),
    signedIn,
    validate('json', EnableRequest),
    async (c) =>
      c.json({ success: true, installed: toInstalled(await enableSkill(deps, c.var.user, c.req.valid('json'))) }),
  )

  app.delete(
    '/api/skills',
    endpoint({ summary: 'Uninstalls a skill from an agent', tag: 'Skills', ...removeAnswers, scope: 'agents' }),
    signedIn,
    validate('json', InstallRequest),
    async (c) => {
      await removeSkill(deps, c.var.user, c.req.valid('json'))
      return c.json({ success: true })
    },
  )

  app.post(
    '/api/skills/create',
    endpoint({ summary: 'Publishes a skill of your own', tag: 'Skills', ...createAnswers, scope: 'agents' }),
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
  app.get(
    '/api/skills/booking-settlement',
    endpoint({ summary: 'Returns the skill that settles bookings', tag: 'Skills', ...showAnswers }),
    (c) => showSkill(c, 'booking-settlement'),
  )
  app.get(
    '/api/skills/instant-split',
    endpoint({ summary: 'Returns the skill that splits payments', tag: 'Skills', ...showAnswers }),
    (c) => showSkill(c, 'instant-split'),
  )
  app.get(
    '/api/skills/:name',
    endpoint({ summary: 'Returns a skill with its file', tag: 'Skills', ...showAnswers }),
    (c) => showSkill(c, c.req.param('name')),
  )

  app.route('/', callSkillWeb(deps))
  return app
}

/** Routes that run a skill's actions. */
function callSkillWeb(deps: SkillsWebDeps) {
  const app = new Hono<WebEnv & OnceEnv>()
  const { signedIn } = deps.guards

  // These skills spend money, so the `agents` scope is not enough.
  const spends: RouteOptions = { scope: 'payments' }
  const body = validate('json', UseSkillRequest)
  const { forUser } = deps.idempotency

  app.post(
    '/api/skills/booking-settlement',
    endpoint({ summary: 'Books, holds and settles fees, by action', tag: 'Skills', ...useAnswers, ...spends }),
    signedIn,
    body,
    forUser,
    (c) => answerCall(deps, c, 'booking-settlement', c.req.valid('json')),
  )

  app.post(
    '/api/skills/event-ticketing',
    endpoint({ summary: 'Sells and checks tickets, by action', tag: 'Skills', ...useAnswers, ...spends }),
    signedIn,
    body,
    forUser,
    (c) => answerCall(deps, c, 'event-ticketing', c.req.valid('json')),
  )

  app.post(
    '/api/skills/instant-split',
    endpoint({ summary: 'Splits an amount at once, by action', tag: 'Skills', ...payAnswers, ...spends }),
    signedIn,
    body,
    forUser,
    (c) => answerCall(deps, c, 'instant-split', c.req.valid('json')),
  )

  app.post(
    '/api/skills/:name',
    endpoint({ summary: 'Uses the actions of a skill', tag: 'Skills', ...useNamedAnswers, scope: 'agents' }),
    signedIn,
    body,
    forUser,
    (c) => answerCall(deps, c, c.req.param('name'), c.req.valid('json')),
  )

  app.delete(
    '/api/skills/:name',
    endpoint({ summary: 'Deletes a skill of your own', tag: 'Skills', ...deleteAnswers, scope: 'agents' }),
    signedIn,
    async (c) => {
      await deleteOwnSkill(deps, c.var.user.id, c.req.param('name'))
      return c.json({ success: true })
    },
  )

  return app
}

async function answerCall(deps: SkillsWebDeps, c: Context<WebEnv & OnceEnv>, name: string, body: UseSkillRequest) {
  // A model may take longer than the listener keeps a silent connection.
  c.env.keepOpen?.(c.req.raw)
  const { user, once } = c.var
  return c.json(await callSkill(deps, name, { user, body, signal: c.req.raw.signal, once }))
}

/** Agents of the built-in runtime load their skills each turn; other runtimes do not load them. */
function toInstallResponse(row: InstalledSkillRow, agent: AgentRow): InstallResponse {
  const deployed = agent.kind === 'stead'
  const deployWarning = 'This agent runs on another runtime, which does not load skills from here'
  return { success: true, installed: toInstalled(row), deployed, ...(!deployed && { deployWarning }) }
}

function toInstalled({ id, userId, agentId, skillId, enabled, createdAt }: InstalledSkillRow) {
  return { id, userId, agentId, skillId, enabled, createdAt: createdAt.toISOString() }
}

/** Skills that an agent loads with its own token. */
export function skillsBackend(deps: { db: Db; callers: CallerFinder; findUser: (id: string) => SignedInUser | null }) {
  const app = new Hono<AgentCallerEnv>()

  app.get(
    '/v1/skills',
    endpoint({
      summary: 'Lists the skills that an agent loads',
      tag: 'Skills',
      responses: { 200: LoadedSkillList },
      errors: ['invalid'],
    }),
    requireAgent(deps.callers),
    (c) => {
      const skills = listAgentSkills(deps, c.var.agentId)
      return c.json({
        skills: skills.map(({ name, description, instructions, checksum }) => ({
          name,
          description,
          instructions,
          checksum,
        })),
      })
    },
  )

  return app
}
