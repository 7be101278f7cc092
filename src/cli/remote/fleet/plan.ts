import { AppError } from '../../../core/errors.ts'
import { UsageError } from '../../exit.ts'
import type { ServerClient } from '../client.ts'
import { type Change, joinParts, type Part, toChanges } from './diff/change.ts'
import { diffServers } from './diff/servers.ts'
import {
  type DiffOptions,
  diffCaps,
  diffChannels,
  diffInstructions,
  diffLabels,
  diffSchedules,
  diffSettings,
  diffTools,
} from './diff/settings.ts'
import type { WantedAgent } from './fleet-file.ts'
import { type ListedAgent, listFleet, type PresentAgent, readPresent, toNew } from './present.ts'

/** Planned changes of one agent; `id` is null until it is created. */
export type AgentPlan = Part & {
  verb: 'create' | 'change' | 'delete'
  id: string | null
  name: string
}

/**
 * Plans the changes that bring the fleet to its desired state, in the order of the file, without unchanged agents.
 * `prunes` deletes agents that are not in the file.
 * @throws UsageError for a missing secret, AppError `invalid` for an ambiguous name, `not_found` for an unknown id.
 */
export async function planFleet(
  server: ServerClient,
  wanted: readonly WantedAgent[],
  { prunes, ...options }: DiffOptions & { prunes: boolean },
): Promise<AgentPlan[]> {
  const listed = await listFleet(server)
  const targets = wanted.map((want) => ({ want, have: findTarget(listed, want) }))
  requireEachOnce(targets.flatMap(({ have }) => have ?? []))
  const plans: AgentPlan[] = []
  for (const { want, have } of targets) {
    const withInstructions = want.instructions !== undefined
    const present = have && (await readPresent(server, have, { withInstructions }))
    const plan = present ? planChange(want, present, options) : planCreation(want, options)
    if (plan.verb === 'create' || plan.changes.length > 0) plans.push(plan)
  }
  const meant = new Set(targets.map(({ have }) => have?.id))
  const left = prunes ? listed.filter(({ id }) => !meant.has(id)) : []
  return [...plans, ...left.map(planDeletion)]
}

function findTarget(listed: readonly ListedAgent[], { id, name }: WantedAgent): ListedAgent | null {
  if (id !== undefined) {
    const found = listed.find((agent) => agent.id === id)
    if (found) return found
    throw new AppError('not_found', `There is no agent ${id}: leave the id of ${name} out to make a new one`)
  }
  const [first, ...others] = listed.filter((agent) => agent.name.toLowerCase() === name.toLowerCase())
  if (first && others.length > 0) {
    const ids = [first, ...others].map((agent) => agent.id).join(', ')
    throw new AppError('invalid', `${others.length + 1} agents are called ${name}: give it the id of one, ${ids}`)
  }
  return first ?? null
}

function requireEachOnce(agents: readonly ListedAgent[]): void {
  const twice = agents.find(({ id }, index) => agents.findIndex((agent) => agent.id === id) !== index)
  if (twice) throw new UsageError(`the agent ${twice.name} (${twice.id}) stands in the file twice`)
}

function planChange(want: WantedAgent, have: PresentAgent, options: DiffOptions): AgentPlan {
  return {
    verb: 'change',
    id: have.id,
    name: have.name,
    ...joinParts([rename(want, have), diffAgent(want, have, options)]),
  }
}

/** The settings are part of the creation, so that the agent is deployed once. */
function planCreation(want: WantedAgent, options: DiffOptions): AgentPlan {
  const present = toNew(want.name)
  const settings = diffSettings(want, present, options)
  const { model, ...config } = Object.fromEntries(
    Object.entries(settings.calls[0]?.body ?? {}).filter(([, value]) => value !== null),
  )
  const body = { name: want.name, ...(model !== undefined && { model }), config }
  const others = joinParts(diffOthers(want, present, options))
  const calls = [{ method: 'POST', path: '/api/agents/provision', body } as const, ...others.calls]
  return { verb: 'create', id: null, name: want.name, changes: [...settings.changes, ...others.changes], calls }
}

function planDeletion({ id, name }: ListedAgent): AgentPlan {
  return { verb: 'delete', id, name, changes: [], calls: [{ method: 'DELETE', path: '' }] }
}

function rename({ name }: WantedAgent, have: PresentAgent): Part {
  const changes: Change[] = toChanges('name', have.name, name)
  return { changes, calls: changes.length === 0 ? [] : [{ method: 'PATCH', path: '', body: { name } }] }
}

function diffAgent(want: WantedAgent, have: PresentAgent, options: DiffOptions): Part {
  return joinParts([diffSettings(want, have, options), ...diffOthers(want, have, options)])
}

function diffOthers(want: WantedAgent, have: PresentAgent, options: DiffOptions): Part[] {
  return [
    diffLabels(want, have),
    diffCaps(want, have),
    diffTools(want, have),
    diffServers(want, have, options),
    diffSchedules(want, have),
    diffChannels(want, have, options),
    // Last, because these need a running agent.
    diffInstructions(want, have),
  ]
}
