import type { Clock } from '../../core/clock.ts'
import { AppError } from '../../core/errors.ts'
import { newId } from '../../core/ids.ts'
import type { Answer, Model, ModelEvent } from '../model.ts'
import type { ChatMessage } from '../schemas.ts'
import type { Memory } from '../state/memory.ts'
import type { Sessions } from '../state/sessions.ts'
import type { LoadSkills } from '../tools/skills.ts'
import { boundHistory, isEnoughHistory } from './history.ts'
import { toSystemPrompt } from './prompt.ts'
import type { TurnQueue } from './queue.ts'

export type TurnDeps = {
  name: string
  clock: Clock
  memory: Memory
  loadSkills: LoadSkills
  sessions: Sessions
  queue: TurnQueue
  /** Loads the model at the first turn and keeps it. */
  loadModel: () => Promise<Model>
  maxTurnMs: number
}

/** `sessionKey` null is a conversation that nobody keeps: its messages are all there is. */
export type TurnRequest = { sessionKey: string | null; messages: ChatMessage[]; signal: AbortSignal }
export type TurnResult = Answer & { text: string }

/**
 * Answers the last user message. In a session that exists, the stored turns are its past; the new turn is on disk when
 * this returns, and a turn that fails leaves the session as it was.
 * @throws AppError `limited`, `upstream_failed`, `upstream_timeout`, `conflict` when the session is deleted meanwhile,
 * `unavailable` when the caller goes or the agent stops.
 */
export async function runTurn(
  deps: TurnDeps,
  request: TurnRequest,
  onEvent: (event: ModelEvent) => void,
): Promise<TurnResult> {
  const { sessionKey } = request
  try {
    return await deps.queue.run(sessionKey ?? newId('turn'), request.signal, (signal) =>
      withDeadline(signal, deps.maxTurnMs, (bounded) => takeTurn(deps, { ...request, signal: bounded }, onEvent)),
    )
  } catch (error) {
    if (!request.signal.aborted || request.signal.reason instanceof AppError) throw error
    throw new AppError('unavailable', 'The caller has gone', {}, { cause: error })
  }
}

async function takeTurn(deps: TurnDeps, request: TurnRequest, onEvent: (event: ModelEvent) => void) {
  const { sessionKey, signal } = request
  const startedAt = deps.clock.now()
  const [stored, facts, skills, model] = await Promise.all([
    sessionKey === null ? null : deps.sessions.readLast(sessionKey, isEnoughHistory),
    deps.memory.list(),
    deps.loadSkills(),
    deps.loadModel(),
  ])
  const given = toConversation(request.messages)
  const added = stored ? given.slice(-1) : given

  let text = ''
  const answer = await model.answer(
    {
      sessionKey,
      signal,
      messages: [...boundHistory(stored ?? []), ...added],
      toInstructions: (canUseTools) =>
        toSystemPrompt({
          name: deps.name,
          now: startedAt,
          facts,
          skills,
          canUseTools,
          callerInstructions: toInstructions(request.messages),
        }),
    },
    (event) => {
      if (event.type === 'text') text += event.text
      onEvent(event)
    },
  )
  signal.throwIfAborted()
  if (sessionKey !== null) {
    const timestamp = startedAt.toISOString()
    await deps.sessions.append(sessionKey, [
      ...added.map((message) => ({ ...message, timestamp })),
      { role: 'assistant', content: text, timestamp: deps.clock.now().toISOString() },
    ])
  }
  return { ...answer, text }
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

/** What was said, without empty messages such as an assistant's bare tool call. */
function toConversation(messages: ChatMessage[]) {
  return messages.flatMap(({ role, content }) =>
    (role === 'user' || role === 'assistant') && content.trim() !== '' ? [{ role, content }] : [],
  )
}

function toInstructions(messages: ChatMessage[]): string[] {
  return messages.flatMap(({ role, content }) => (role === 'system' || role === 'developer' ? [content] : []))
}
