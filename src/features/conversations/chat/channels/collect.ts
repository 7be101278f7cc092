import type { AgentTurnEvent } from '../../../../adapters/gateways/stream.ts'
import type { ChannelAnswer } from './record.ts'

/** What an agent did in a turn that a job asked for: its text, and everything that the history keeps beside it. */
export type CollectedAnswer = {
  add(event: AgentTurnEvent): void
  text(): string
  figures(): Pick<
    ChannelAnswer,
    'model' | 'inputTokens' | 'outputTokens' | 'generationIds' | 'endedBy' | 'restarts' | 'toolCalls'
  >
}

/** No turn has more calls of a model than that; an agent that names more is not believed. */
const MAX_GENERATIONS = 500

export function collectAnswer(): CollectedAnswer {
  let text = ''
  let used: Pick<ChannelAnswer, 'model' | 'inputTokens' | 'outputTokens'> = {
    model: null,
    inputTokens: null,
    outputTokens: null,
  }
  let endedBy: ChannelAnswer['endedBy'] = null
  let restarts = 0
  let toolCalls: ChannelAnswer['toolCalls'] = []
  const generationIds = new Set<string>()
  return {
    add(event) {
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
        case 'usage':
          used = { model: event.model, inputTokens: event.inputTokens, outputTokens: event.outputTokens }
          break
        case 'early_end':
          endedBy = event.reason
          break
        case 'restart':
          // What follows is told from its beginning.
          text = ''
          toolCalls = []
          restarts = event.restarts
          break
      }
    },
    text: () => text,
    figures: () => ({ ...used, endedBy, restarts, toolCalls, generationIds: [...generationIds] }),
  }
}
