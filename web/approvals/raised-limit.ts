import { RAISE_LIMIT, RaisedLimit } from '../../src/features/conversations/approvals/schemas.ts'
import { formatCost } from '../cost/figures.ts'

const things = { tokens: 'tokens', messages: 'messages', toolCalls: 'tool calls', files: 'written files' } as const

/** Describes a request to raise a daily limit; null for any other request. */
export function describeRaise({ tool, arguments: json }: { tool: string; arguments: string }): string | null {
  if (tool !== RAISE_LIMIT) return null
  const raised = RaisedLimit.safeParse(JSON.parse(json))
  if (!raised.success) return null
  const { limit, amount, day } = raised.data
  const more =
    limit === 'usd' ? `${formatCost(amount)} more on models` : `${amount.toLocaleString('en')} more ${things[limit]}`
  return `Allow ${more} on ${day}.`
}
