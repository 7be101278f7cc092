import { AppError } from '../../../core/errors.ts'
import { write } from '../../../db/write.ts'
import type { SignedInUser } from '../../../http/env.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import { type InstructionDeps, readInstructions, writeInstructions } from './notes.ts'
import { addTexts, fitsFact, type SaveDeps } from './save.ts'
import { MAX_INSTRUCTION_CHARACTERS, type WorkspaceImport, type WorkspaceImported } from './schemas.ts'

/** File with the agent's character; other imported files are knowledge. */
const SOUL = 'SOUL.md'
const IS_KNOWLEDGE = /^(MEMORY\.md|USER\.md|memory\/.+\.md)$/
const SESSION = 'import:openclaw'

type File = WorkspaceImport['files'][number]

/**
 * Imports an OpenClaw workspace: `SOUL.md` becomes part of the instructions; `MEMORY.md`, `USER.md` and the diary in
 * `memory/` become facts named by their paths. Existing facts and instructions stay, so repeating the import changes
 * nothing.
 * @throws AppError `not_found` for a missing agent and for another user's, `storage_full`; the gateway's errors.
 */
export async function importWorkspace(
  deps: SaveDeps & InstructionDeps,
  user: SignedInUser,
  { agentId, files }: WorkspaceImport,
): Promise<WorkspaceImported> {
  const result: WorkspaceImported = { agentId, facts: [], instructions: [], known: [], skipped: [] }
  getAgent(deps.db, { kind: 'user', user }, agentId)
  const taken = new Map<string, string>()
  for (const file of files.toSorted(compareDays)) {
    const path = file.path.replace(/^\.\//, '')
    const reason = taken.has(path) ? 'is there twice' : whyNot({ ...file, path })
    if (reason === null) taken.set(path, file.text)
    else result.skipped.push({ path: file.path, reason })
  }
  const soul = taken.get(SOUL)
  taken.delete(SOUL)
  const { added, tooMany } = await write(deps.db, (tx) => {
    const { id } = getAgent(tx, { kind: 'user', user }, agentId)
    return addTexts(deps, tx, { agentId: id, session: SESSION }, taken)
  })
  result.facts = added
  result.known = [...taken.keys()].filter((path) => !added.includes(path) && !tooMany.includes(path))
  result.skipped.push(...tooMany.map((path) => ({ path, reason: 'the memory of the agent is full' })))
  if (soul !== undefined) await addSoul(deps, user, soul, result)
  return result
}

/** A stopped agent fails only this part of the import. */
async function addSoul(
  deps: InstructionDeps,
  user: SignedInUser,
  soul: string,
  result: WorkspaceImported,
): Promise<void> {
  try {
    const before = (await readInstructions(deps, user, result.agentId)) ?? ''
    if (before.includes(soul.trim())) {
      result.known.push(SOUL)
      return
    }
    const text = before === '' ? soul.trim() : `${before.trimEnd()}\n\n${soul.trim()}`
    if (text.length > MAX_INSTRUCTION_CHARACTERS) {
      const reason = `the instructions would have more than ${MAX_INSTRUCTION_CHARACTERS} characters`
      result.skipped.push({ path: SOUL, reason })
      return
    }
    await writeInstructions(deps, user, result.agentId, text)
    result.instructions.push(SOUL)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    result.skipped.push({ path: SOUL, reason: error.message })
  }
}

function whyNot({ path, text }: File): string | null {
  if (path !== SOUL && !IS_KNOWLEDGE.test(path)) return 'is neither SOUL.md, MEMORY.md, USER.md nor in memory/'
  if (text.trim() === '') return 'is empty'
  return path === SOUL || fitsFact(text) ? null : 'is larger than 100 KB'
}

/** The newest diary days come first, because the space may not suffice for all; files of the root come before them. */
function compareDays(one: File, other: File): number {
  const isDay = ({ path }: File) => Number(path.includes('memory/'))
  return isDay(one) - isDay(other) || other.path.localeCompare(one.path)
}
