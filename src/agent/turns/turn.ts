import type { Clock } from '../../core/clock.ts'
import { AppError } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import type { Log } from '../../core/log.ts'
import { currentRequestId } from '../../core/request-id.ts'
import { toAppError } from '../errors.ts'
import type { Answer, Model, ModelEvent, ModelRequest } from '../model.ts'
import type { ChatMessage } from '../schemas.ts'
import type { Instructions } from '../state/instructions.ts'
import type { Memory } from '../state/memory.ts'
import type { Sessions } from '../state/sessions.ts'
import type { TurnOutcome } from '../state/turn-marks.ts'
import type { LoadSkills } from '../tools/skills.ts'
import type { Past, PastRequest } from './past.ts'
import { toSystemPrompt } from './prompt.ts'
import type { TurnQueue } from './queue.ts'

export type TurnDeps = {
  name: string
  clock: Clock
  log: Log
  memory: Memory
  loadSkills: LoadSkills
  instructions: Pick<Instructions, 'toPrompt'>
  sessions: Sessions
  /** Null for a session that does not exist. */
  readPast: (request: PastRequest) => Promise<Past | null>
  queue: TurnQueue
  /** Names of the tools whose approval earlier turns of the session still wait for. */
  listWaitingTools: (sessionKey: string) => string[]
  /** Loads the model at the first turn and keeps it. */
  loadModel: () => Promise<Model>
  maxTurnMs: number
}

/** The code of the reason with which somebody stops a turn on purpose: what was said until then is kept. */
export const STOPPED = 'TURN_STOPPED'

/** Keeps that a turn was begun, before a model is asked, and how it ended, before its session has it. */
export type KeepMark = {
  begin(): Promise<void>
  end(outcome: Pick<TurnOutcome, 'answer' | 'failure'>): Promise<void>
}

/** `sessionKey` null is a conversation that nobody keeps: its messages are all there is. */
export type TurnRequest = {
  sessionKey: string | null
  messages: ChatMessage[]
  signal: AbortSignal
  /** Of a turn that must not be run twice. */
  mark?: KeepMark
  /** Called before the turn waits for its owner's approval: other turns may run meanwhile. */
  onWaitForOwner?: () => void
}
export type TurnResult = Answer & { text: string }

/** `runTurn`, with a line in the log for each answer. What was said stays out of it. */
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
 * Answers the last user message. In a session that exists, the stored turns are its past; the new turn is on disk when
 * this returns. A turn that fails leaves the session as it was, one that is stopped keeps what was said.
 * @throws AppError `limited`, `upstream_failed`, `upstream_timeout`, `conflict` when the session is deleted meanwhile,
 * `unavailable` when the caller goes or the agent stops.
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
    await request.mark?.end({ answer: null, failure: toFailure(error) })
    if (!request.signal.aborted || request.signal.reason instanceof AppError) throw error
    throw new AppError('unavailable', 'The caller has gone', {}, { cause: error })
  }
}

async function takeTurn(
  deps: TurnDeps,
  request: TurnRequest & { letNextBegin: () => void },
  onEvent: (event: ModelEvent) => void,
) {
  const { sessionKey, signal } = request
  const onWaitForOwner = () => {
    request.letNextBegin()
    request.onWaitForOwner?.()
  }
  const startedAt = deps.clock.now()
  const [facts, skills, model, ownerInstructions] = await Promise.all([
    deps.memory.list(),
    deps.loadSkills(),
    deps.loadModel(),
    deps.instructions.toPrompt(),
  ])
  await request.mark?.begin()
  const past = sessionKey === null ? null : await deps.readPast({ sessionKey, model, signal, onEvent })
  const given = toConversation(request.messages)
  const added = past ? given.slice(-1) : given
  const messages = [...(past?.messages ?? []), ...added]
  const waitingTools = sessionKey === null ? [] : deps.listWaitingTools(sessionKey)
  const instruct: ModelRequest['toInstructions'] = ({ canUseTools, timeZone }) =>
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

  let text = ''
  const keepTurn = async () => {
    if (sessionKey === null) return
    const timestamp = startedAt.toISOString()
    await deps.sessions.append(sessionKey, [
      ...added.map((message) => ({ ...message, timestamp })),
      { role: 'assistant', content: text, timestamp: deps.clock.now().toISOString() },
    ])
  }
  try {
    const asked = { sessionKey, signal, messages, toInstructions: instruct, onWaitForOwner }
    const last = await model.answer(asked, (event) => {
      if (event.type === 'text') text += event.text
      onEvent(event)
    })
    signal.throwIfAborted()
    const answer = { ...last, usage: addUsage(last.usage, past?.usage ?? null) }
    await request.mark?.end({ answer, failure: null })
    await keepTurn()
    return { ...answer, text }
  } catch (error) {
    if (isStopped(signal) && text !== '') await keepTurn()
    throw error
  }
}

/** What a turn took together with the summary that it began with. */
function addUsage(one: Answer['usage'], other: Answer['usage']): Answer['usage'] {
  if (!one || !other) return one
  return { inputTokens: one.inputTokens + other.inputTokens, outputTokens: one.outputTokens + other.outputTokens }
}

function isStopped({ reason }: AbortSignal): boolean {
  return reason instanceof AppError && reason.extra.code === STOPPED
}

/** The reason of whichever aborts first is what comes out. */
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
    // The runtime reports an abort in several ways; only the signal knows why.
    throw either.aborted ? either.reason : error
  } finally {
    clearTimeout(timer)
  }
}

/** How a failure is kept. */
function toFailure(error: unknown): TurnOutcome['failure'] {
  const { kind, message, extra } = toAppError(error)
  return { kind, message, ...(typeof extra.code === 'string' && { code: extra.code }) }
}

/** What was said, without empty messages such as an assistant's bare tool call. */
function toConversation(messages: ChatMessage[]) {
  return messages.flatMap(({ role, content, images }) =>
    (role === 'user' || role === 'assistant') && content.trim() !== ''
      ? [{ role, content, ...(images && { images }) }]
      : [],
  )
}

function toInstructions(messages: ChatMessage[]): string[] {
  return messages.flatMap(({ role, content }) => (role === 'system' || role === 'developer' ? [content] : []))
}
