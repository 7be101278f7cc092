import { z } from 'zod'
import { AppError, errorMessage } from '../../core/errors.ts'
import { AGENT_TOKEN_PREFIX } from '../../core/ids.ts'
import type { Log } from '../../core/log.ts'
import { requestIdHeader } from '../../core/request-id.ts'
import type { Workspace } from '../state/workspace.ts'
import { listOwnSkills } from './own-skills.ts'
import type { Skill } from './skill.ts'

export type LoadSkills = () => Promise<Skill[]>

const TIMEOUT_MS = 5000
const Skills = z.object({
  skills: z.array(z.object({ name: z.string(), description: z.string(), instructions: z.string() })),
})

/**
 * Asks the platform for the skills of this agent at every turn, so that what its owner installs counts at once. A turn goes
 * on without them when they cannot be had; one with its owner's key has those of its workspace alone.
 */
export function createSkillLoader(
  settings: { platformUrl: string; platformToken: string },
  deps: { fetch: typeof fetch; log: Log; workspace: Pick<Workspace, 'list' | 'read'> },
): LoadSkills {
  const loadInstalled = async () => {
    if (!settings.platformToken.startsWith(AGENT_TOKEN_PREFIX)) return []
    return load(settings, deps.fetch).catch((error) => {
      deps.log.warn({ error: errorMessage(error) }, 'the skills of this agent could not be loaded')
      return []
    })
  }
  return async () => {
    const [installed, own] = await Promise.all([loadInstalled(), listOwnSkills(deps.workspace)])
    // What the owner has installed is not taken by a file of the same name.
    const names = new Set(installed.map(({ name }) => name))
    return [...installed, ...own.filter(({ name }) => !names.has(name))]
  }
}

/** `howToRun` is said of a skill with programs in it. @throws AppError `not_found` when there is none of this name. */
export async function readSkill(loadSkills: LoadSkills, name: string, howToRun: string) {
  const skill = (await loadSkills()).find((one) => one.name === name)
  if (!skill) throw new AppError('not_found', `There is no skill ${name}`)
  const { instructions, folder, scripts = [] } = skill
  return {
    instructions,
    ...(folder !== undefined && { folder }),
    ...(scripts.length > 0 && { scripts, howToRun }),
  }
}

async function load(
  settings: { platformUrl: string; platformToken: string },
  plainFetch: typeof fetch,
): Promise<Skill[]> {
  const response = await plainFetch(`${settings.platformUrl}/v1/skills`, {
    headers: { authorization: `Bearer ${settings.platformToken}`, ...requestIdHeader() },
    redirect: 'manual',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  if (response.ok) return Skills.parse(await response.json()).skills
  await response.body?.cancel()
  // A platform from before there were skills.
  if (response.status === 404) return []
  throw new Error(`the platform answered ${response.status}`)
}
