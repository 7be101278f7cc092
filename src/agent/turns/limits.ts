import { isStepCount } from 'ai'
import type { EarlyEnd } from '../../core/agents/collect-turn.ts'
import type { TurnTools } from '../tools/tools.ts'

type Step = {
  toolCalls: readonly { toolName: string; input: unknown; invalid?: boolean | undefined }[]
  usage: { inputTokens: number | undefined; outputTokens: number | undefined }
}

/**
 * Limits a turn's model calls by the owner's step and cost limits and by loop detection. `stepsBefore` counts the steps
 * of a resumed turn.
 */
export function toLoop({ tools, limits, price, repeats }: TurnTools, stepsBefore = 0) {
  const modelTurns = Math.max(1, limits.modelTurns - stepsBefore)
  let spentUsd = 0
  const isOverspent = (steps: readonly Step[]) => {
    if (price !== null) spentUsd = costOf(steps, price)
    return limits.maxUsd !== null && spentUsd >= limits.maxUsd
  }
  return {
    settings: {
      tools,
      stopWhen: [
        isStepCount(modelTurns),
        ({ steps }: { steps: readonly Step[] }) => isOverspent(steps),
        ({ steps }: { steps: readonly Step[] }) => {
          // Invalid calls never reach the tool, where valid ones are counted.
          for (const call of steps.at(-1)?.toolCalls ?? []) if (call.invalid) repeats.note(call.toolName, call.input)
          return repeats.loopingTool() !== null
        },
      ],
      // Without tools in the last step, the model has to answer with text.
      prepareStep: ({ stepNumber }: { stepNumber: number }) =>
        stepNumber === modelTurns - 1 ? { toolChoice: 'none' as const } : {},
    },
    earlyEnd(): EarlyEnd {
      const tool = repeats.loopingTool()
      if (tool !== null) return { reason: 'loop', tool }
      return { reason: limits.maxUsd !== null && spentUsd >= limits.maxUsd ? 'cost' : 'steps', tool: null }
    },
  }
}

/** Returns the sentence that ends the answer of a turn stopped by a limit. */
export function describeEarlyEnd({ reason, tool }: EarlyEnd): string {
  switch (reason) {
    case 'loop':
      return `I stopped here: I was going in circles, with the same call of ${tool} again and again.`
    case 'cost':
      return 'I stopped here: this turn has cost as much as my owner allows for one.'
    case 'steps':
      return 'I stopped here: this turn has reached the limits that my owner has set.'
  }
}

function costOf(steps: readonly Step[], price: NonNullable<TurnTools['price']>): number {
  return steps.reduce((sum, { usage: { inputTokens = 0, outputTokens = 0 } }) => {
    return sum + (inputTokens * price.inputUsdPerMillion + outputTokens * price.outputUsdPerMillion) / 1_000_000
  }, 0)
}
