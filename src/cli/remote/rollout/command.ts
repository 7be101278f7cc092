import { setTimeout as pause } from 'node:timers/promises'
import type { Command } from 'commander'
import { AppError } from '../../../core/errors.ts'
import { DeploymentList, UpdatedImage } from '../../../features/agents/deployments/schemas.ts'
import type { WebAgent } from '../../../features/agents/registry/schemas.ts'
import { UsageError } from '../../exit.ts'
import type { ServerClient } from '../client.ts'
import { findAgents, findRemoteAgent } from '../find-agent.ts'
import { type ServerOptions, withServer } from '../server.ts'
import { readCount, toPlain } from '../table.ts'
import { type Fate, type MemberReport, type RolloutMember, rollOut } from './roll-out.ts'

const MOST_AT_ONCE = 32
const FATES: Readonly<Record<Fate, string>> = {
  updated: 'is up to date',
  failed: 'was not updated',
  returned: 'runs again as it did before',
  kept: 'was not touched',
}

type UpdateOptions = ServerOptions & {
  all: boolean
  everybody: boolean
  image?: string
  first?: string
  atOnce: string
}

/** `agents update`: updates one agent, or a fleet in waves that stop at the first failure. */
export function updateCommand(command: Command): void {
  command
    .description('gives agents the newest image; an agent goes back by itself when that fails')
    .option(
      '--all',
      'all agents that run, in waves: one, two, four and so on; a failure ends it and puts all back',
      false,
    )
    .option('--everybody', 'with --all: those of all accounts, at the server that runs on DATA_DIR', false)
    .option('--image <image>', 'this image instead of the newest')
    .option('--first <agent>', 'with --all: the one that goes before all others')
    .option('--at-once <count>', `with --all: how many at once at most, up to ${MOST_AT_ONCE}`, '8')
    .action(update)
}

async function update(wanted: string | undefined, options: UpdateOptions): Promise<void> {
  requireSense(wanted, options)
  const mostAtOnce = readCount('--at-once', options.atOnce, MOST_AT_ONCE)
  const reports = await withServers(options, async (servers) => {
    const members = wanted === undefined ? await findFleet(servers, options) : await findOne(servers, wanted, options)
    return rollOut(members, mostAtOnce, (report) => {
      if (!options.json) process.stdout.write(`${describe(report)}\n`)
    })
  })
  print(reports, options)
  process.exitCode = reports.some(({ fate }) => fate === 'failed') ? 1 : 0
}

/** Checks the options. @throws UsageError for a conflicting combination. */
function requireSense(wanted: string | undefined, { all, everybody, first, ...options }: UpdateOptions): void {
  if ((wanted === undefined) !== all) throw new UsageError('agents update: name an agent, or say --all')
  if (!all && everybody) throw new UsageError('--everybody: goes with --all')
  if (!all && first !== undefined) throw new UsageError('--first: goes with --all')
  const isElsewhere = options.url !== undefined || options.keyFile !== undefined || options.as !== undefined
  if (everybody && isElsewhere) throw new UsageError('--everybody: is for the server that runs on DATA_DIR')
}

async function withServers<T>(
  options: UpdateOptions,
  work: (servers: readonly ServerClient[]) => Promise<T>,
): Promise<T> {
  if (!options.everybody) return withServer(options, (server) => work([server]))
  const { withOwnersSessions } = await import('../local-session.ts')
  return withOwnersSessions(work)
}

async function findOne(
  servers: readonly ServerClient[],
  wanted: string,
  { image }: UpdateOptions,
): Promise<RemoteAgent[]> {
  const [server] = servers
  return server ? [toRemoteAgent(server, await findRemoteAgent(server, wanted), image)] : []
}

/** Selects running and sleeping agents: a stopped one gets the newest image at its own update. */
async function findFleet(servers: readonly ServerClient[], { image, first }: UpdateOptions): Promise<RemoteAgent[]> {
  const lists = await Promise.all(
    servers.map(async (server) => (await findAgents(server)).map((agent) => ({ server, agent }))),
  )
  const fleet = lists.flat().filter(({ agent }) => agent.status === 'running' || agent.status === 'sleeping')
  const isFirst = ({ agent }: (typeof fleet)[number]) =>
    agent.id === first || agent.name.toLowerCase() === first?.toLowerCase()
  if (first !== undefined && !fleet.some(isFirst)) throw new UsageError(`--first: no agent ${first} runs`)
  return fleet
    .toSorted((left, right) => Number(isFirst(right)) - Number(isFirst(left)))
    .map(({ server, agent }) => toRemoteAgent(server, agent, image))
}

function describe({ member, fate, reason }: MemberReport<RemoteAgent>): string {
  return toPlain(`${member.name} ${FATES[fate]}${reason === null ? '' : `: ${reason}`}`)
}

function print(reports: readonly MemberReport<RemoteAgent>[], { all, json }: UpdateOptions): void {
  if (json) {
    const agents = reports.map(({ member: { id, name }, fate, reason }) => ({ id, name, fate, reason }))
    process.stdout.write(`${JSON.stringify({ agents })}\n`)
    return
  }
  if (!all) return
  const counts = Object.keys(FATES).flatMap((fate) => {
    const count = reports.filter((report) => report.fate === fate).length
    return count > 0 ? [`${count} ${fate}`] : []
  })
  process.stdout.write(`${reports.length === 0 ? 'No agent runs.' : counts.join(', ')}\n`)
}

/** An agent on a server as a roll-out member. */
type RemoteAgent = RolloutMember & { id: string }

const LOOK_MS = 1000

/** `image` is the target; the newest image without one. */
function toRemoteAgent(server: ServerClient, { id, name }: WebAgent, image?: string): RemoteAgent {
  const path = `/api/agents/${encodeURIComponent(id)}`
  const update = async (wanted?: string) => {
    const body = wanted === undefined ? {} : { image: wanted }
    const updated = await server.ask(UpdatedImage, 'POST', `${path}/update`, body)
    if (updated.message !== undefined) process.stderr.write(`${toPlain(`${name}: ${updated.message}`)}\n`)
    if (updated.status === 'provisioning') await waitForEnd(server, path)
    return updated
  }
  return {
    id,
    name,
    update: async () => {
      const { previousImage, image: current } = await update(image)
      if (previousImage === null || previousImage === current) return null
      return async () => void (await update(previousImage))
    },
  }
}

/**
 * Waits for an update that outlasts its response, for example during a slow image pull.
 * @throws AppError with the reason of a failure.
 */
async function waitForEnd(server: ServerClient, path: string): Promise<void> {
  for (;;) {
    const { deployments } = await server.ask(DeploymentList, 'GET', `${path}/deployments`)
    const [last] = deployments
    if (!last || last.result === 'succeeded') return
    if (last.result !== null) throw new AppError('internal', last.reason ?? `its update is ${last.result}`)
    await pause(LOOK_MS)
  }
}
