import { AppError, errorMessage } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { toPathParts } from './paths.ts'
import type { AgentWorkspace } from './workspace.ts'

/** Workspace file with the owner's instructions. */
const FILE = 'AGENT.md'
/** Every model call contains the instructions. */
const MAX_CHARS = 20_000

/** The owner's instructions for every session. */
export type OwnerInstructions = {
  /** Returns the whole file, or null without one. @throws AppError `invalid`, `too_large` if it is not a text file. */
  read(): Promise<string | null>
  /** Replaces the file; an empty text counts as none. @throws AppError `too_large`, `invalid`. */
  write(text: string): Promise<void>
  /**
   * Returns the instructions for the system prompt, or null. An unusable file is reported there and in the log, and
   * does not fail the turn.
   */
  toPrompt(): Promise<string | null>
}

export function createInstructions(workspace: AgentWorkspace, log: Log): OwnerInstructions {
  const read = async () => {
    try {
      const text = await workspace.read(FILE)
      return text.trim() === '' ? null : text
    } catch (error) {
      if (error instanceof AppError && error.kind === 'not_found') return null
      throw error
    }
  }
  return {
    read,
    async write(text) {
      if (text.length > MAX_CHARS) throw new AppError('too_large', `Instructions have at most ${MAX_CHARS} characters`)
      await workspace.write(FILE, text)
    },
    async toPrompt() {
      try {
        const text = await read()
        if (text === null) return null
        if (text.length <= MAX_CHARS) return `What your owner wants of you (${FILE}):\n${text.trim()}`
        log.warn(
          { chars: text.length, maxChars: MAX_CHARS },
          'the instructions of the agent are too long and are truncated',
        )
        const shown = text.slice(0, MAX_CHARS).toWellFormed()
        return `What your owner wants of you (${FILE}; only the first ${MAX_CHARS} of its ${text.length} characters are read, say so when it matters):\n${shown} […]`
      } catch (error) {
        const reason = errorMessage(error)
        log.warn({ reason }, 'failed to read the instructions of the agent')
        return `Your owner left you instructions in ${FILE}, which cannot be read (${reason}). Say so when you are asked about them.`
      }
    },
  }
}

/** Returns whether a workspace path names the instructions file. Some file systems ignore case. */
export function isInstructions(path: string): boolean {
  return toPathParts(path).join('/').toLowerCase() === FILE.toLowerCase()
}
