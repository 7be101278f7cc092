import { AppError, errorMessage } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { toParts } from './paths.ts'
import type { Workspace } from './workspace.ts'

/** The file of the workspace in which the owner says how the agent is to be. */
const FILE = 'AGENT.md'
/** A model is sent them with every call. */
const MAX_CHARS = 20_000

/** What the owner of an agent wants of it in every session. */
export type Instructions = {
  /** The whole file, null without one. @throws AppError `invalid`, `too_large` for what is no text file. */
  read(): Promise<string | null>
  /** Replaces it; an empty text counts as none. @throws AppError `too_large`, `invalid`. */
  write(text: string): Promise<void>
  /** As the model is told, null without any. What cannot be used is told there and in the log, and fails no turn. */
  toPrompt(): Promise<string | null>
}

export function createInstructions(workspace: Workspace, log: Log): Instructions {
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
          'the instructions of the agent are too long; their end is left out',
        )
        const shown = text.slice(0, MAX_CHARS).toWellFormed()
        return `What your owner wants of you (${FILE}; only the first ${MAX_CHARS} of its ${text.length} characters are read, say so when it matters):\n${shown} […]`
      } catch (error) {
        const reason = errorMessage(error)
        log.warn({ reason }, 'the instructions of the agent cannot be read')
        return `Your owner left you instructions in ${FILE}, which cannot be read (${reason}). Say so when you are asked about them.`
      }
    },
  }
}

/** Does this path of the workspace name the instructions? Some systems take no notice of case. */
export function isInstructions(path: string): boolean {
  return toParts(path).join('/').toLowerCase() === FILE.toLowerCase()
}
