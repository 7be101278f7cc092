import type { ModelEvent } from '../turns/model-event.ts'
import type { TurnResult } from '../turns/turn.ts'
import type { HistoryEntry } from './history.ts'

/** `result` is null for a turn without a whole answer; `at` is ISO 8601. */
export type TurnEnd = { result: TurnResult | null; status: Answer['status']; error: Answer['error']; at: string }

type Answer = Extract<HistoryEntry, { type: 'answer' }>

/** The platform takes no more names of calls for one turn. */
const MAX_GENERATIONS = 500

/** Collects what the history keeps of a turn. */
export function collectTurn() {
  let text = ''
  let restarts = 0
  let endedBy: Answer['endedBy'] = null
  let toolCalls: Answer['toolCalls'] = []
  const generationIds = new Set<string>()
  return {
    add(event: ModelEvent) {
      switch (event.type) {
        case 'text':
          text += event.text
          break
        case 'tool': {
          const { type: _, ...call } = event
          toolCalls.push({ ...call, offset: text.length })
          break
        }
        case 'generation':
          if (generationIds.size < MAX_GENERATIONS) generationIds.add(event.id)
          break
        case 'early_end':
          endedBy = event.reason
          break
        case 'restart':
          text = ''
          toolCalls = []
          restarts = event.restarts
          break
        case 'answering':
          break
      }
    },
    /** The entry of the turn that answered the message `question`. */
    toEntry(question: string, end: TurnEnd): Answer {
      const { result, ...others } = end
      return {
        type: 'answer',
        question,
        text,
        restarts,
        endedBy,
        toolCalls,
        generationIds: [...generationIds],
        model: result?.model ?? null,
        inputTokens: result?.usage?.inputTokens ?? null,
        outputTokens: result?.usage?.outputTokens ?? null,
        ...others,
      }
    },
  }
}
