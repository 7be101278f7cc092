import type { RehearsalRequest, RehearsalResult } from '../../core/agents/rehearsal.ts'
import { createRehearsal } from '../tools/rehearsal.ts'
import { toSystemPrompt } from './prompt.ts'
import type { TurnDeps } from './turn.ts'

const MAX_ANSWER_CHARS = 2000

/**
 * Answers a message with the agent's real model, settings, skills and memory, in a turn that executes no tool and
 * stores nothing.
 * @throws AppError as `Model.answer`.
 */
export async function rehearse(
  deps: Pick<TurnDeps, 'name' | 'clock' | 'memory' | 'loadSkills' | 'instructions' | 'loadModel'>,
  request: RehearsalRequest,
  signal: AbortSignal,
): Promise<RehearsalResult> {
  const [facts, skills, model, ownerInstructions] = await Promise.all([
    deps.memory.list(),
    deps.loadSkills(),
    deps.loadModel(),
    deps.instructions.toPrompt(),
  ])
  const rehearsal = createRehearsal(request)
  const now = deps.clock.now()
  const own = { name: deps.name, now, facts, skills, ownerInstructions }
  let answer = ''
  await model.answer(
    {
      sessionKey: null,
      messages: [{ role: 'user', content: request.message }],
      signal,
      onWaitForOwner: () => undefined,
      record: null,
      rehearsal,
      toInstructions: (turn) =>
        toSystemPrompt({ ...own, ...turn, preface: null, callerInstructions: [], waitingTools: [] }),
    },
    (event) => {
      if (event.type === 'text') answer += event.text
    },
  )
  return { calls: rehearsal.calls, answer: answer.slice(0, MAX_ANSWER_CHARS) }
}
