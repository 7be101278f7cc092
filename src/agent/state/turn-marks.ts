import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { EarlyEnd } from '../../core/agents/turn-limits.ts'
import type { ErrorKind } from '../../core/errors.ts'
import { sha256 } from '../../core/secrets.ts'
import { systemCode, writeAtomically } from './files.ts'

const Event = z.discriminatedUnion('type', [
  z.object({ type: z.literal('answering'), model: z.string() }),
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('generation'), id: z.string() }),
  EarlyEnd.extend({ type: z.literal('early_end') }),
  z.object({
    type: z.literal('tool'),
    name: z.string(),
    arguments: z.string(),
    result: z.string(),
    success: z.boolean(),
    durationMs: z.number(),
  }),
])
const Answer = z.object({
  model: z.string(),
  finishReason: z.enum(['stop', 'length', 'content_filter']),
  usage: z.object({ inputTokens: z.number(), outputTokens: z.number() }).nullable(),
})
const Failure = z.object({
  kind: z.string().transform((kind) => kind as ErrorKind),
  message: z.string(),
  code: z.string().optional(),
})
const TurnMark = z.object({
  id: z.string(),
  end: z.object({ events: z.array(Event), answer: Answer.nullable(), failure: Failure.nullable() }).nullable(),
})

/** What a turn has come to: everything it told, and its answer or why there is none. */
export type TurnOutcome = NonNullable<z.infer<typeof TurnMark>['end']>

/** Which turns were begun, and how those that have ended did: whoever asks again gets the same answer. */
export type TurnMarks = {
  /** Null for a turn that was never begun; without an `end` it was begun and not ended. */
  find(id: string): Promise<z.infer<typeof TurnMark> | null>
  /** To be called before anything is done that must not be done twice. */
  begin(id: string): Promise<void>
  end(id: string, end: TurnOutcome): Promise<void>
}

/** Marks that are kept, the newest; whoever asks again does so within minutes. */
const KEPT = 200
/** Looked over after so many. */
const PRUNE_EVERY = 50

/** One file a turn in `folder`, on disk when a call returns. */
export function createTurnMarks(folder: string): TurnMarks {
  let begun = 0
  const fileOf = (id: string) => join(folder, `${sha256(id)}.json`)
  const keep = async (mark: z.input<typeof TurnMark>) => {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await writeAtomically(fileOf(mark.id), JSON.stringify(mark))
  }
  return {
    async find(id) {
      const text = await readFile(fileOf(id), 'utf8').catch((error: unknown) => {
        if (systemCode(error) === 'ENOENT') return null
        throw error
      })
      return text === null ? null : TurnMark.parse(JSON.parse(text))
    },
    async begin(id) {
      if (begun % PRUNE_EVERY === 0) await prune(folder)
      begun += 1
      await keep({ id, end: null })
    },
    end: (id, end) => keep({ id, end }),
  }
}

async function prune(folder: string): Promise<void> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return []
    throw error
  })
  if (names.length <= KEPT) return
  const marks = await Promise.all(
    names.map(async (name) => ({ name, changedMs: (await stat(join(folder, name))).mtimeMs })),
  )
  const old = marks.sort((one, other) => other.changedMs - one.changedMs).slice(KEPT)
  await Promise.all(old.map(({ name }) => rm(join(folder, name), { force: true })))
}
