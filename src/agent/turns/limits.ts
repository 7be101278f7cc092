import { isStepCount } from 'ai'
import type { EarlyEnd } from '../../core/agents/turn-limits.ts'
import type { TurnTools } from '../tools/tools.ts'

type Step = {
  toolCalls: readonly { toolName: string; input: unknown; invalid?: boolean | undefined }[]
  usage: { inputTokens: number | undefined; outputTokens: number | undefined }
}

/**
 * As many steps as the owner allows, while they cost no more than that and do not go in circles; `stepsBefore` are those of
 * a turn that is taken up again.
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
          // What does not fit its tool never comes as far as being done, where the others are counted.
          for (const call of steps.at(-1)?.toolCalls ?? []) if (call.invalid) repeats.note(call.toolName, call.input)
          return repeats.loopingTool() !== null
        },
      ],
      // The last step must be words: a turn that ends in a tool call says nothing.
      prepareStep: ({ stepNumber }: { stepNumber: number }) =>
        stepNumber === modelTurns - 1 ? { toolChoice: 'none' as const } : {},
    },
    /** Why the turn was ended before the model had answered. */
    earlyEnd(): EarlyEnd {
      const tool = repeats.loopingTool()
      if (tool !== null) return { reason: 'loop', tool }
      return { reason: limits.maxUsd !== null && spentUsd >= limits.maxUsd ? 'cost' : 'steps', tool: null }
    },
  }
}

/** What whoever asked is told of it, after whatever was said until then. */
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
