import { z } from 'zod'

/** Maximum number of model call ids stored per turn. */
export const MAX_GENERATIONS = 500

type ToolCall = { name: string; arguments: string; result: string; success: boolean; durationMs: number }
type CollectedEvent =
  | { type: 'text'; text: string }
  | ({ type: 'tool' } & ToolCall)
  | { type: 'generation'; id: string }
  | { type: 'usage'; model: string | null; inputTokens: number; outputTokens: number }
  | ({ type: 'early_end' } & EarlyEnd)
  | { type: 'restart'; restarts: number }
  | { type: 'answering' }

/** A turn in the history, without its text. `offset` is the number of characters before a tool call. */
export type TurnFigures = {
  model: string | null
  inputTokens: number | null
  outputTokens: number | null
  generationIds: string[]
  endedBy: EarlyEnd['reason'] | null
  restarts: number
  toolCalls: (ToolCall & { offset: number })[]
}

export type CollectedTurn = { add(event: CollectedEvent): void; text(): string; figures(): TurnFigures }

/** Collects from a turn's events what the history stores. */
export function collectTurn(): CollectedTurn {
  let text = ''
  let usage: Pick<TurnFigures, 'model' | 'inputTokens' | 'outputTokens'> = {
    model: null,
    inputTokens: null,
    outputTokens: null,
  }
  let endedBy: TurnFigures['endedBy'] = null
  let restarts = 0
  let toolCalls: TurnFigures['toolCalls'] = []
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
          usage = { model: event.model, inputTokens: event.inputTokens, outputTokens: event.outputTokens }
          break
        case 'early_end':
          endedBy = event.reason
          break
        case 'restart':
          // The agent repeats everything from the start.
          text = ''
          toolCalls = []
          restarts = event.restarts
          break
        case 'answering':
          break
      }
    },
    text: () => text,
    figures: () => ({ ...usage, endedBy, restarts, toolCalls, generationIds: [...generationIds] }),
  }
}

/** `loop`: the same tool call repeated; `cost`, `steps`: the owner's limit for a turn was reached. */
export const END_REASONS = ['loop', 'cost', 'steps'] as const

/** Why a turn was ended before the model answered; `tool` is the repeated one. */
export const EarlyEnd = z.object({ reason: z.enum(END_REASONS), tool: z.string().max(200).nullable() })
export type EarlyEnd = z.infer<typeof EarlyEnd>
