import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../../core/clock.ts'
import { AppError } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import type { Log } from '../../core/log.ts'
import { currentRequestId } from '../../core/request-id.ts'
import { toKnownError } from '../errors.ts'
import type { Answer, Model, TurnModelRequest } from '../model.ts'
import { PLATFORM_AWAY } from '../platform.ts'
import type { CompletionMessage } from '../schemas.ts'
import type { OwnerInstructions } from '../state/instructions.ts'
import type { FactStore } from '../state/memory.ts'
import type { SessionStore } from '../state/sessions.ts'
import type { ModelEvent, TurnOutcome } from '../state/turn-marks.ts'
import type { LoadSkills } from '../tools/skills.ts'
import type { Past, PastRequest } from './past.ts'
import { toSystemPrompt } from './prompt.ts'
import type { TurnQueue } from './queue.ts'
import { type TurnRecord, textOf, toInterrupted } from './turn-record.ts'

/** A turn fails when the platform stays unreachable for longer. */
const MAX_AWAY_MS = 120_000
const RETRY_MS = 500
const MAX_RESULT_CHARS = 500

export type TurnDeps = {
  name: string
  clock: Clock
  log: Log
  memory: FactStore
  loadSkills: LoadSkills
  instructions: Pick<OwnerInstructions, 'toPrompt'>
  sessions: SessionStore
  /** Returns null for a session that does not exist. */
  readPast: (request: PastRequest) => Promise<Past | null>
  queue: TurnQueue
  /** Lists tools for which earlier turns of the session wait for approval. */
  listWaitingTools: (sessionKey: string) => string[]
  /** Loads the model with the first turn. */
  loadModel: () => Promise<Model>
  maxTurnMs: number
}

/** Error code of a turn that a user stopped; its text is kept. */
export const STOPPED = 'TURN_STOPPED'

/** Error code of turns interrupted by a stopping agent; recorded ones resume at the next start. */
export const AGENT_STOPPING = 'AGENT_STOPPING'

/** With `sessionKey` null the conversation is not stored, and `messages` is the whole conversation. */
export type TurnRequest = {
  sessionKey: string | null
  messages: CompletionMessage[]
  signal: AbortSignal
  /** Set for a turn that runs once and is resumed after a crash. */
  record?: TurnRecord
  /** Called before the turn waits for approval: other turns may run meanwhile. */
  onWaitForOwner?: () => void
}
export type TurnResult = Answer & { text: string }

/** Runs a turn and logs its outcome, without its text. */
export async function runLoggedTurn(
  deps: TurnDeps,
  request: TurnRequest,
  onEvent: (event: ModelEvent) => void,
): Promise<TurnResult> {
  const startedAt = performance.now()
  const result = await runTurn(deps, request, onEvent)
  const { model, finishReason, usage } = result
  const tookMs = Math.round(performance.now() - startedAt)
  deps.log.info({ requestId: currentRequestId(), model, finishReason, ...usage, tookMs }, 'turn answered')
  return result
}

/**
 * Answers the last user message. In an existing session the stored messages are its history; the new turn is on disk
 * when this returns. A failed turn leaves the session unchanged; a stopped one keeps its text.
 * @throws AppError `limited`, `upstream_failed`, `upstream_timeout`, `conflict` when the session is deleted meanwhile,
 * `unavailable` when the caller disconnects or the agent stops.
 */
async function runTurn(
  deps: TurnDeps,
  request: TurnRequest,
  onEvent: (event: ModelEvent) => void,
): Promise<TurnResult> {
  const { sessionKey } = request
  try {
    return await deps.queue.run(sessionKey ?? newId('turn'), request.signal, (signal, letNextBegin) =>
      withDeadline(signal, deps.maxTurnMs, (bounded) =>
        takeTurn(deps, { ...request, signal: bounded, letNextBegin }, onEvent),
      ),
    )
  } catch (error) {
    const isTakenUpLater = error instanceof AppError && error.extra.code === AGENT_STOPPING
    if (!isTakenUpLater) await request.record?.end({ answer: null, failure: toFailure(error) })
    if (!request.signal.aborted || request.signal.reason instanceof AppError) throw error
    throw new AppError('unavailable', 'The caller has gone', {}, { cause: error })
  }
}

async function takeTurn(
  deps: TurnDeps,
  request: TurnRequest & { letNextBegin: () => void },
  onEvent: (event: ModelEvent) => void,
): Promise<TurnResult> {
  const onWaitForOwner = () => {
    request.letNextBegin()
    request.onWaitForOwner?.()
  }
  const startedAt = deps.clock.now()
  try {
    return await attemptTurns(deps, request, { startedAt, onEvent, onWaitForOwner })
  } catch (error) {
    const { sessionKey, record, messages } = request
    const question = toConversation(messages).at(-1)
    if (sessionKey !== null && record && question && isInterrupted(error)) {
      // The user can ask to continue in the next message.
      await appendTurn(deps, sessionKey, { startedAt, added: [question], said: describeInterrupted(record) })
    }
    throw error
  }
}

type Attempt = { startedAt: Date; onEvent: (event: ModelEvent) => void; onWaitForOwner: () => void }

/** Retries a recorded turn while the platform is unreachable. */
async function attemptTurns(
  deps: TurnDeps,
  request: TurnRequest,
  { onEvent, ...attempt }: Attempt,
): Promise<TurnResult> {
  let awaySince: number | null = null
  const onSign = (event: ModelEvent) => {
    if (event.type === 'answering') awaySince = null
    onEvent(event)
  }
  await request.record?.begin()
  for (;;) {
    try {
      return await attemptTurn(deps, request, { ...attempt, onEvent: onSign })
    } catch (error) {
      const { record, signal } = request
      if (!record || !isPlatformAway(error)) throw toResumeError(record, error)
      signal.throwIfAborted()
      awaySince ??= performance.now()
      if (performance.now() - awaySince > MAX_AWAY_MS) throw error
      deps.log.warn(
        { error: error.message, cut: error.extra.wasReached },
        'the platform is unreachable; the turn waits for it',
      )
      if (error.extra.wasReached) await record.restart()
      await sleep(RETRY_MS, undefined, { signal }).catch(() => signal.throwIfAborted())
    }
  }
}

async function attemptTurn(
  deps: TurnDeps,
  request: TurnRequest,
  { startedAt, onEvent, onWaitForOwner }: Attempt,
): Promise<TurnResult> {
  const { sessionKey, signal, record } = request
  const [facts, skills, model, ownerInstructions] = await Promise.all([
    deps.memory.list(),
    deps.loadSkills(),
    deps.loadModel(),
    deps.instructions.toPrompt(),
  ])
  const past = sessionKey === null ? null : await deps.readPast({ sessionKey, model, signal, onEvent })
  const given = toConversation(request.messages)
  const added = past ? given.slice(-1) : given
  const messages = [...(past?.messages ?? []), ...added]
  const waitingTools = sessionKey === null ? [] : deps.listWaitingTools(sessionKey)
  const instruct: TurnModelRequest['toInstructions'] = ({ canUseTools, timeZone }) =>
    toSystemPrompt({
      name: deps.name,
      now: startedAt,
      timeZone,
      facts,
      skills,
      canUseTools,
      ownerInstructions,
      preface: past?.preface ?? null,
      waitingTools,
      callerInstructions: toInstructions(request.messages),
    })
  let text = textOf(record?.events ?? [])
  const keepTurn = async () => {
    if (sessionKey !== null) await appendTurn(deps, sessionKey, { startedAt, added, said: text })
  }
  try {
    const asked = { sessionKey, signal, messages, toInstructions: instruct, onWaitForOwner, record: record ?? null }
    const last = await model.answer(asked, (event) => {
      if (event.type === 'text') text += event.text
      onEvent(event)
    })
    signal.throwIfAborted()
    const answer = { ...last, usage: addUsage(last.usage, past?.usage ?? null) }
    await record?.end({ answer, failure: null })
    await keepTurn()
    return { ...answer, text }
  } catch (error) {
    if (isStopped(signal) && text !== '') await keepTurn()
    throw error
  }
}

type Said = { startedAt: Date; added: Conversation; said: string }
type Conversation = ReturnType<typeof toConversation>

async function appendTurn(
  { sessions, clock }: TurnDeps,
  sessionKey: string,
  { startedAt, added, said }: Said,
): Promise<void> {
  const timestamp = startedAt.toISOString()
  await sessions.append(sessionKey, [
    ...added.map((message) => ({ ...message, timestamp })),
    { role: 'assistant', content: said, timestamp: clock.now().toISOString() },
  ])
}

function isPlatformAway(error: unknown): error is AppError {
  return error instanceof AppError && error.extra.code === PLATFORM_AWAY
}

function isInterrupted(error: unknown): boolean {
  return error instanceof AppError && error.extra.code === 'TURN_INTERRUPTED'
}

/** If the model rejects a resumed conversation, reports the turn as interrupted. */
function toResumeError(record: TurnRecord | undefined, error: unknown): unknown {
  const isRefused = error instanceof AppError && error.kind === 'upstream_failed'
  return record && record.restarts > 0 && record.steps.length > 0 && isRefused ? toInterrupted(record.steps) : error
}

/** Describes an unfinished turn for its session: its text and the tools it used. */
function describeInterrupted({ steps, events }: TurnRecord): string {
  const uses = steps.flatMap(({ calls }) => calls).map(({ name, output }) => `${name}: ${toWords(output)}`)
  const done = uses.length > 0 ? ` Tools used until then:\n${uses.join('\n')}` : ''
  return [textOf(events), `[This turn was interrupted before its end.${done}]`].filter(Boolean).join('\n\n')
}

function toWords(output: TurnRecord['steps'][number]['calls'][number]['output']): string {
  if (!output) return 'interrupted'
  const words = typeof output.value === 'string' ? output.value : JSON.stringify(output.value)
  return words.slice(0, MAX_RESULT_CHARS)
}

function addUsage(one: Answer['usage'], other: Answer['usage']): Answer['usage'] {
  if (!one || !other) return one
  return { inputTokens: one.inputTokens + other.inputTokens, outputTokens: one.outputTokens + other.outputTokens }
}

function isStopped({ reason }: AbortSignal): boolean {
  return reason instanceof AppError && reason.extra.code === STOPPED
}

/** Runs `work` with a time limit. @throws the reason of whichever signal aborted first. */
async function withDeadline<Result>(
  signal: AbortSignal,
  maxMs: number,
  work: (signal: AbortSignal) => Promise<Result>,
) {
  const deadline = new AbortController()
  const expire = () => deadline.abort(new AppError('upstream_timeout', 'The answer took too long'))
  const timer = setTimeout(expire, maxMs)
  const either = AbortSignal.any([signal, deadline.signal])
  try {
    return await work(either)
  } catch (error) {
    // The runtime reports an abort in several ways; the signal has the reason.
    throw either.aborted ? either.reason : error
  } finally {
    clearTimeout(timer)
  }
}

function toFailure(error: unknown): TurnOutcome['failure'] {
  const { kind, message, extra } = toKnownError(error)
  return { kind, message, ...(typeof extra.code === 'string' && { code: extra.code }) }
}

/** Returns the messages with text; an assistant message with only tool calls has none. */
function toConversation(messages: CompletionMessage[]) {
  return messages.flatMap(({ role, content, images }) =>
    (role === 'user' || role === 'assistant') && content.trim() !== ''
      ? [{ role, content, ...(images && { images }) }]
      : [],
  )
}

function toInstructions(messages: CompletionMessage[]): string[] {
  return messages.flatMap(({ role, content }) => (role === 'system' || role === 'developer' ? [content] : []))
}
