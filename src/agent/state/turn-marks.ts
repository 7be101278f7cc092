import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { EarlyEnd } from '../../core/agents/collect-turn.ts'
import type { ErrorKind } from '../../core/errors.ts'
import { systemCode } from '../../core/files/system-error.ts'
import { sha256 } from '../../core/secrets.ts'
import { writeAtomically } from './files.ts'

/**
 * `generation` is the platform's id of one model call; `early_end` means a limit ended the turn; `restart` means the
 * turn was resumed after a crash, and the following events replace all earlier ones.
 */
const ModelEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('restart'), restarts: z.number() }),
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
export type ModelEvent = z.infer<typeof ModelEvent>

/** A tool call; `output` is its result for the model, null while it runs. */
const ToolCall = z.object({
  id: z.string(),
  name: z.string(),
  input: z.unknown(),
  output: z
    .discriminatedUnion('type', [
      z.object({ type: z.literal('text'), value: z.string() }),
      z.object({ type: z.literal('json'), value: z.json() }),
      z.object({ type: z.literal('error-text'), value: z.string() }),
    ])
    .nullable(),
})
const Step = z.object({ text: z.string(), calls: z.array(ToolCall) })
export type TurnStep = z.infer<typeof Step>

/** The state from which an interrupted turn resumes. */
const SavedTurn = z.object({
  sessionKey: z.string().nullable(),
  messages: z.array(
    z.object({
      role: z.enum(['system', 'developer', 'user', 'assistant']),
      content: z.string(),
      images: z.array(z.string()).optional(),
    }),
  ),
  restarts: z.number(),
  steps: z.array(Step),
  events: z.array(ModelEvent),
})
export type SavedTurn = z.infer<typeof SavedTurn>

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
  end: z.object({ events: z.array(ModelEvent), answer: Answer.nullable(), failure: Failure.nullable() }).nullable(),
  /** Null after the end of the turn, and in files of earlier versions. */
  saved: SavedTurn.nullable().default(null),
})

/** Events of a finished turn, with its answer or failure. */
export type TurnOutcome = NonNullable<z.infer<typeof TurnMark>['end']>

/** State and outcome of turns with an id, so that repeated requests get the same answer. */
export type TurnMarks = {
  /** Returns null for an unknown turn; a running turn has no `end`. */
  find(id: string): Promise<z.infer<typeof TurnMark> | null>
  /** Saves the progress of a turn before an effect that must not be repeated. */
  save(id: string, saved: SavedTurn): Promise<void>
  end(id: string, end: TurnOutcome): Promise<void>
}

/** Number of recent turns that are kept; repeated requests arrive within minutes. */
const KEPT = 200
const PRUNE_EVERY = 50

/** Keeps one file per turn in `folder`, on disk when a call resolves. */
export function createTurnMarks(folder: string): TurnMarks {
  let writes = 0
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
    async save(id, saved) {
      if (writes % PRUNE_EVERY === 0) await prune(folder)
      writes += 1
      await keep({ id, end: null, saved })
    },
    end: (id, end) => keep({ id, end, saved: null }),
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
