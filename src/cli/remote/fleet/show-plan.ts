import { toPlain } from '../table.ts'
import { type Change, listReferences } from './diff/change.ts'
import type { HeartbeatPlan } from './heartbeat.ts'
import type { AgentPlan } from './plan.ts'

const SIGNS = { add: '+', change: '~', remove: '-', create: '+', delete: '-' } as const
const MAX_SHOWN = 80

/** Formats the plan: one paragraph per agent, one line per change, and totals. */
export function showPlan(plans: readonly AgentPlan[], heartbeat: HeartbeatPlan | null): string {
  if (plans.length === 0 && heartbeat === null) return 'Nothing to do: the fleet is as the file says.'
  const count = (verb: AgentPlan['verb']) => plans.filter((plan) => plan.verb === verb).length
  const sums = `${count('create')} to create, ${count('change')} to change, ${count('delete')} to delete`
  const beat = heartbeat === null ? [] : ['~ heartbeat of the agents', ...heartbeat.changes.map(showChange)]
  return toPlain([...plans.flatMap(showAgent), ...beat, sums].join('\n'))
}

function showAgent({ verb, id, name, changes }: AgentPlan): string[] {
  const note = verb === 'delete' ? ' with all it keeps' : ''
  return [`${SIGNS[verb]} ${name}${id === null ? '' : ` (${id})`}${note}`, ...changes.map(showChange)]
}

function showChange({ kind, field, before, after }: Change): string {
  const values = [before, after].filter((value) => value !== undefined).map(toText)
  return `    ${SIGNS[kind]} ${field}${values.length === 0 ? '' : `: ${values.join(' -> ')}`}`
}

/** Shortens a text to one line, so that a prompt cannot imitate a line of the plan. */
function toText(value: unknown): string {
  const text = typeof value === 'string' && !/[\r\n]/.test(value) ? value : JSON.stringify(value)
  if (text.length <= MAX_SHOWN) return text
  const shown = text.slice(0, MAX_SHOWN)
  // Values read from this machine are always shown, even within a long text.
  const hidden = listReferences(text).filter((reference) => !shown.includes(reference))
  return [`${shown}…`, ...hidden].join(' ')
}
