import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import type { Clock } from '../core/clock.ts'
import { AppError } from '../core/errors.ts'
import { systemCode, writeAtomically } from './files.ts'

const MAX_FACTS = 100
const MAX_FACT_CHARS = 500

const Fact = z.object({ id: z.number().int(), text: z.string(), at: z.string() })
const MemoryFile = z.object({ nextId: z.number().int(), facts: z.array(Fact) })
type MemoryFile = z.infer<typeof MemoryFile>

/** Something the agent was told to keep; `id` is never given twice. */
export type Fact = z.infer<typeof Fact>

/** What the agent knows in every session: at most 100 facts of 500 characters. */
export type Memory = {
  /** @throws AppError `internal` when the file is damaged; `clear` repairs it. */
  list(): Promise<Fact[]>
  /** @throws AppError `invalid` when it is too long or memory is full. */
  remember(text: string): Promise<Fact>
  /** @throws AppError `not_found`. */
  forget(id: number): Promise<void>
  clear(): Promise<void>
}

export function createMemory(path: string, clock: Clock): Memory {
  let last: Promise<unknown> = Promise.resolve()
  /** One change after another: sessions run side by side and share the file. */
  const change = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const result = last.then(work)
    last = result.catch(() => undefined)
    return result
  }

  return {
    list: async () => (await load(path)).facts,
    remember: (text) =>
      change(async () => {
        const memory = await load(path)
        const fact = { id: memory.nextId, text: toFactText(text), at: clock.now().toISOString() }
        if (memory.facts.length >= MAX_FACTS) throw new AppError('invalid', 'Memory is full: forget something first')
        await save(path, { nextId: fact.id + 1, facts: [...memory.facts, fact] })
        return fact
      }),
    forget: (id) =>
      change(async () => {
        const memory = await load(path)
        const facts = memory.facts.filter((fact) => fact.id !== id)
        if (facts.length === memory.facts.length) throw new AppError('not_found', `There is no fact ${id}`)
        await save(path, { ...memory, facts })
      }),
    clear: () => change(() => save(path, { nextId: 1, facts: [] })),
  }
}

/** One line: a fact is shown to the model as an item of a list. */
function toFactText(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  if (line === '') throw new AppError('invalid', 'There is nothing to remember')
  if (line.length > MAX_FACT_CHARS) throw new AppError('invalid', `A fact has at most ${MAX_FACT_CHARS} characters`)
  return line
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
