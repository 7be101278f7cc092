import { z } from 'zod'
import { AppError, errorMessage } from '../../core/errors.ts'
import { AGENT_TOKEN_PREFIX } from '../../core/ids.ts'
import type { Log } from '../../core/log.ts'
import { requestIdHeader } from '../../core/request-id.ts'
import type { AgentWorkspace } from '../state/workspace.ts'

export type LoadSkills = () => Promise<AgentSkill[]>

const TIMEOUT_MS = 5000
const Skills = z.object({
  skills: z.array(z.object({ name: z.string(), description: z.string(), instructions: z.string() })),
})

/**
 * Loads the installed skills from the platform for every turn, so that a change applies at once, and adds those of the
 * workspace. A failed request leaves out the installed skills.
 */
export function createSkillLoader(
  settings: { platformUrl: string; platformToken: string },
  deps: { fetch: typeof fetch; log: Log; workspace: Pick<AgentWorkspace, 'list' | 'read'> },
): LoadSkills {
  const loadInstalled = async () => {
    if (!settings.platformToken.startsWith(AGENT_TOKEN_PREFIX)) return []
    return load(settings, deps.fetch).catch((error) => {
      deps.log.warn({ error: errorMessage(error) }, 'failed to load the installed skills of this agent')
      return []
    })
  }
  return async () => {
    const [installed, own] = await Promise.all([loadInstalled(), listOwnSkills(deps.workspace)])
    // A workspace file cannot replace an installed skill of the same name.
    const names = new Set(installed.map(({ name }) => name))
    return [...installed, ...own.filter(({ name }) => !names.has(name))]
  }
}

/**
 * Returns the instructions of a skill; `howToRun` is added if it has scripts.
 * @throws AppError `not_found` for an unknown name.
 */
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
): Promise<AgentSkill[]> {
  const response = await plainFetch(`${settings.platformUrl}/v1/skills`, {
    headers: { authorization: `Bearer ${settings.platformToken}`, ...requestIdHeader() },
    redirect: 'manual',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  if (response.ok) return Skills.parse(await response.json()).skills
  await response.body?.cancel()
  // An older platform without skills.
  if (response.status === 404) return []
  throw new Error(`the platform answered ${response.status}`)
}

/**
 * Instructions for a task: `description` says when the skill applies. A workspace skill has a `folder`, and `scripts`
 * in it.
 */
export type AgentSkill = {
  name: string
  description: string
  instructions: string
  folder?: string
  scripts?: string[]
}

const MAX_SKILLS = 50
/** Skills are in `skills/<name>/SKILL.md` of the workspace; the model reads other files there with the file tools. */
const SKILLS_FOLDER = 'skills'
const SKILL_FILE = /^skills\/([^/]+)\/SKILL\.md$/

/** Extensions of scripts; workspace files have no executable bit. */
const SCRIPT_FILE = /\.(?:sh|bash|py|js|mjs|ts|rb|pl|php)$/i
const MAX_SCRIPTS = 20

const FrontMatter = z.object({ name: z.string().min(1).max(64), description: z.string().trim().min(1).max(1024) })

/** Returns whether a file belongs to a skill, which the model treats as the owner's instructions. */
export function isOfSkill(path: string): boolean {
  return (
    path
      .split('/')
      .find((part) => part !== '' && part !== '.')
      ?.toLowerCase() === SKILLS_FOLDER
  )
}

/** Lists workspace skills; files without a valid name and description in their front matter are left out. */
async function listOwnSkills(workspace: Pick<AgentWorkspace, 'list' | 'read'>): Promise<AgentSkill[]> {
  // The folder may not exist.
  const { files } = await workspace.list(SKILLS_FOLDER).catch(() => ({ files: [] }))
  const paths = files.map(({ path }) => path).filter((path) => SKILL_FILE.test(path))
  const skills = await Promise.all(
    paths.slice(0, MAX_SKILLS).map(async (path) => {
      const parsed = parse(await workspace.read(path).catch(() => ''))
      const folder = path.slice(0, -'/SKILL.md'.length)
      return parsed && { ...parsed, folder, scripts: listScripts(files, folder) }
    }),
  )
  return skills.filter((skill) => skill !== null)
}

function listScripts(files: readonly { path: string }[], folder: string): string[] {
  const inFolder = files.map(({ path }) => path).filter((path) => path.startsWith(`${folder}/`))
  return inFolder.filter((path) => SCRIPT_FILE.test(path)).slice(0, MAX_SCRIPTS)
}

function parse(content: string): AgentSkill | null {
  const match = /^\uFEFF?---\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)([\s\S]*)$/.exec(content)
  const parsed = FrontMatter.safeParse(readYaml(match?.[1] ?? ''))
  const instructions = match?.[2]?.trim() ?? ''
  // The prompt shows each value on one line.
  const toLine = (text: string) => text.replace(/\s+/g, ' ')
  if (!parsed.success || instructions === '') return null
  return { name: toLine(parsed.data.name), description: toLine(parsed.data.description), instructions }
}

function readYaml(text: string): unknown {
  try {
    return Bun.YAML.parse(text)
  } catch {
    return null
  }
}
