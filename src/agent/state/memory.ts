import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import type { Clock } from '../../core/clock.ts'
import { AppError } from '../../core/errors.ts'
import { systemCode } from '../../core/files/system-error.ts'
import { randomText } from '../../core/ids.ts'
import type { LineFact } from '../../core/text/lines.ts'
import { writeAtomically } from './files.ts'

const MAX_FACTS = 100
const MAX_FACT_CHARS = 500
const MAX_KEY_CHARS = 200
const NEW_KEY_CHARS = 8

/** Name of a fact, and its origin. */
type About = { name?: string | undefined; session?: string | undefined; page?: string | undefined }

/**
 * Facts that the agent knows in every session. A change is stored when it resolves; changes by others are visible at
 * once.
 */
export type FactStore = {
  /** Lists facts, newest last. @throws AppError when the store cannot be read. */
  list(): Promise<LineFact[]>
  /** Returns the full text of a fact. @throws AppError `not_found`. */
  recall(key: string, signal?: AbortSignal): Promise<string>
  /**
   * Stores `text` under its name, replacing an earlier fact, or under a new name.
   * @throws AppError `invalid` when it is too long or memory is full.
   */
  remember(text: string, about?: About, signal?: AbortSignal): Promise<{ key: string }>
  /** @throws AppError `not_found`. */
  forget(key: string, signal?: AbortSignal): Promise<void>
  clear(): Promise<void>
  /** @throws an error while a local fault prevents memory from working. */
  check(): Promise<void>
}

const StoredFact = z.object({
  id: z.number().int(),
  text: z.string(),
  at: z.string(),
  key: z.string().optional(),
  session: z.string().optional(),
  page: z.string().optional(),
})
const MemoryFile = z.object({ nextId: z.number().int(), facts: z.array(StoredFact) })
type MemoryFile = z.infer<typeof MemoryFile>

/** A fact of a local memory file; `at` is ISO 8601, missing if it is not readable. */
type KeptFact = { key: string; text: string; at?: string }

/** Keeps at most 100 facts in a file, for an agent without platform memory. */
export function createLocalMemory(path: string, clock: Clock): FactStore {
  let last: Promise<unknown> = Promise.resolve()
  /** Serializes changes, because concurrent sessions share the file. */
  const change = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const result = last.then(work)
    last = result.catch(() => undefined)
    return result
  }

  return {
    list: async () => (await load(path)).facts.map((fact) => ({ key: keyOf(fact), text: fact.text, isWhole: true })),
    async recall(key) {
      const found = (await load(path)).facts.find((fact) => keyOf(fact) === key)
      if (!found) throw noSuchFact(key)
      return found.text
    },
    remember: (text, about) =>
      change(async () => {
        const memory = await load(path)
        const key = toKey(about?.name)
        const { session, page } = about ?? {}
        const fact = { id: memory.nextId, text: toFactText(text), at: clock.now().toISOString(), key, session, page }
        const others = memory.facts.filter((known) => keyOf(known) !== key)
        if (others.length >= MAX_FACTS) throw new AppError('invalid', 'Memory is full: forget something first')
        await save(path, { nextId: fact.id + 1, facts: [...others, fact] })
        return { key }
      }),
    forget: (key) =>
      change(async () => {
        const memory = await load(path)
        const facts = memory.facts.filter((fact) => keyOf(fact) !== key)
        if (facts.length === memory.facts.length) throw noSuchFact(key)
        await save(path, { ...memory, facts })
      }),
    clear: () => change(() => save(path, { nextId: 1, facts: [] })),
    check: async () => void (await load(path)),
  }
}

/** Returns the facts of the file; none if it does not exist. @throws AppError `internal` when it is damaged. */
export async function readKeptFacts(path: string): Promise<KeptFact[]> {
  return (await load(path)).facts.map((fact) => {
    const time = Date.parse(fact.at)
    return { key: keyOf(fact), text: fact.text, ...(!Number.isNaN(time) && { at: new Date(time).toISOString() }) }
  })
}

/** Returns the text as one line, because the prompt lists facts. @throws AppError `invalid`. */
export function toFactText(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  if (line === '') throw new AppError('invalid', 'There is nothing to remember')
  if (line.length > MAX_FACT_CHARS) throw new AppError('invalid', `A fact has at most ${MAX_FACT_CHARS} characters`)
  return line
}

/** Returns the given name, or a new random one. @throws AppError `invalid`. */
export function toKey(name: string | undefined): string {
  const key = name?.trim() || `fact-${randomText(NEW_KEY_CHARS).toLowerCase()}`
  if (key.length > MAX_KEY_CHARS) throw new AppError('invalid', `A name has at most ${MAX_KEY_CHARS} characters`)
  return key
}

export function noSuchFact(key: string): AppError {
  return new AppError('not_found', `There is no fact ${JSON.stringify(key)}`)
}

/** Files of earlier versions number their facts. */
function keyOf(fact: z.infer<typeof StoredFact>): string {
  return fact.key ?? `fact-${fact.id}`
}

async function load(path: string): Promise<MemoryFile> {
  try {
    return MemoryFile.parse(JSON.parse(await readFile(path, 'utf8')))
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return { nextId: 1, facts: [] }
    throw new AppError('internal', 'The memory file cannot be read; resetting memory repairs it', {}, { cause: error })
  }
}

function save(path: string, memory: MemoryFile): Promise<void> {
  return writeAtomically(path, `${JSON.stringify(memory, null, 2)}\n`)
}
