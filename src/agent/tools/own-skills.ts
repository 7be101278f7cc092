import { z } from 'zod'
import type { Workspace } from '../state/workspace.ts'
import type { Skill } from './skill.ts'

const MAX_SKILLS = 50
/** In `skills/<name>/SKILL.md` of the workspace; what lies beside it is read as any other file. */
const SKILLS_FOLDER = 'skills'
const SKILL_FILE = /^skills\/([^/]+)\/SKILL\.md$/

/** What is a program, by its name; the files of agents have no mode that would say so. */
const SCRIPT_FILE = /\.(?:sh|bash|py|js|mjs|ts|rb|pl|php)$/i
const MAX_SCRIPTS = 20

const FrontMatter = z.object({ name: z.string().min(1).max(64), description: z.string().trim().min(1).max(1024) })

/** Is a file a skill, or a part of one? What stands there is told to the model as its owner's word. */
export function isOfSkill(path: string): boolean {
  return (
    path
      .split('/')
      .find((part) => part !== '' && part !== '.')
      ?.toLowerCase() === SKILLS_FOLDER
  )
}

/** The skills in the workspace; a file that is none, because its front matter lacks a name or a description, is left out. */
export async function listOwnSkills(workspace: Pick<Workspace, 'list' | 'read'>): Promise<Skill[]> {
  // A workspace without the folder has none.
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

function parse(content: string): Skill | null {
  const match = /^\uFEFF?---\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)([\s\S]*)$/.exec(content)
  const parsed = FrontMatter.safeParse(readYaml(match?.[1] ?? ''))
  const instructions = match?.[2]?.trim() ?? ''
  // Each stands in one line of the prompt.
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
