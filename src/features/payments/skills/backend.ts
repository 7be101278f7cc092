import { Hono } from 'hono'
import type { Db } from '../../../db/open.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { type AgentCallerEnv, type CallerFinder, requireAgent } from '../../ai/gateway/callers.ts'
import { listAgentSkills } from './marketplace.ts'
import { LoadedSkillList } from './schemas.ts'

export type SkillsBackendDeps = { db: Db; callers: CallerFinder; findUser: (id: string) => SignedInUser | null }

/** What an agent can do besides its tools: it asks with its own token, at the door that agents reach. */
export function skillsBackend(deps: SkillsBackendDeps) {
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
