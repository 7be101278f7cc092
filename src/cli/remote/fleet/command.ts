import type { Command } from 'commander'
import { z } from 'zod'
import { AppError } from '../../../core/errors.ts'
import { addExample } from '../../example.ts'
import { UsageError } from '../../exit.ts'
import type { ServerClient } from '../client.ts'
import { addServerOptions, type ServerOptions, withServer } from '../server.ts'
import { toPlain } from '../table.ts'
import { type Call, createLookUp } from './diff/change.ts'
import type { HeartbeatOutcome } from './heartbeat.ts'
import type { AgentPlan } from './plan.ts'

const EXIT_CODES = 'Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 75 no server answers, 78 a setting is bad.'

type ApplyOptions = ServerOptions & { yes: boolean; dryRun: boolean; prune: boolean; secrets: boolean }

/** Adds `export` and `apply`: a fleet as one file. */
export function fleetCommands(program: Command): void {
  addExample(addServerOptions(program.command('export')), 'stead export > fleet.yaml', EXIT_CODES)
    .description('writes all of one’s agents as one file, without their secrets, for stead apply')
    .action(writeFleet)
  addExample(
    addServerOptions(program.command('apply <file>')),
    'stead apply fleet.yaml --dry-run\nstead apply fleet.yaml --prune --yes',
    `Agents are known by their names. What the file does not name is left alone; a list that it gives is the whole list.
A secret is a reference, \${env:NAME} or \${file:PATH}. One that is set already is not sent again, because nobody is
told it and so nobody can compare it; --secrets sends all of them.

${EXIT_CODES}`,
  )
    .description('makes the fleet as a file (YAML or JSON, - for standard input) says: shows what differs, then asks')
    .option('--dry-run', 'show what would be done, and do nothing', false)
    .option('--yes', 'do not ask', false)
    .option('--prune', 'delete the agents that are not in the file', false)
    .option('--secrets', 'send also the secrets that are set already', false)
    .action(applyFleet)
}

async function writeFleet(options: ServerOptions): Promise<void> {
  const { exportFleet } = await import('./export-fleet.ts')
  const { document, variables, missing } = await withServer(options, exportFleet)
  for (const one of missing) process.stderr.write(toPlain(`stead: not in the file: ${one}\n`))
  if (options.json) {
    process.stdout.write(`${JSON.stringify(document)}\n`)
    return
  }
  const { stringify } = await import('yaml')
  const head = ['A fleet of Stead: stead apply FILE makes it so.', ...describeVariables(variables)]
  process.stdout.write(`${head.map((line) => `# ${line}\n`).join('')}${stringify(document)}`)
}

function describeVariables(variables: readonly string[]): string[] {
  if (variables.length === 0) return []
  return [
    'Secrets are told to nobody. Where they are not set yet, these are needed:',
    ...variables.map((name) => `  ${name}`),
  ]
}

async function applyFleet(file: string, options: ApplyOptions): Promise<void> {
  const [{ readFleetFile }, { planFleet }, { showPlan }, { planHeartbeat, setHeartbeat }] = await Promise.all([
    import('./read-file.ts'),
    import('./plan.ts'),
    import('./show-plan.ts'),
    import('./heartbeat.ts'),
  ])
  const wanted = await readFleetFile(file)
  const lookUp = createLookUp(file, process.env)
  await withServer(options, async (server) => {
    const given = { lookUp, sendsSecrets: options.secrets, prunes: options.prune }
    const plans = await planFleet(server, wanted.agents, given)
    const heartbeat = await planHeartbeat(server, wanted.heartbeat)
    warnOfKeys(await listMissingKeys(server, wanted.keys ?? []))
    if (!options.json) process.stdout.write(`${showPlan(plans, heartbeat)}\n`)
    const isDone = options.dryRun || (plans.length === 0 && heartbeat === null)
    if (!isDone) requireConsent(file, options, plans)
    const outcomes = new Map<AgentPlan, Outcome>()
    let beat: HeartbeatOutcome | null = null
    try {
      for (const plan of isDone ? [] : plans) {
        const outcome = await carryOut(server, plan)
        outcomes.set(plan, outcome)
        if (!options.json) process.stdout.write(`${describeOutcome(plan, outcome)}\n`)
      }
      // The heartbeat may refer to an agent that was just created.
      if (!isDone && heartbeat !== null) {
        beat = await setHeartbeat(server, heartbeat)
        if (!options.json) process.stdout.write(toPlain(`${describeHeartbeat(beat)}\n`))
      }
    } finally {
      // Print the completed changes: their secrets cannot be read again.
      if (options.json) {
        const agents = plans.map((plan) => toJson(plan, outcomes.get(plan)))
        const change = heartbeat && {
          changes: heartbeat.changes,
          isDone: beat?.error === null,
          error: beat?.error ?? null,
        }
        process.stdout.write(`${JSON.stringify({ agents, ...(change && { heartbeat: change }) })}\n`)
      }
    }
    const ends = [...outcomes.values(), ...(beat ? [beat] : [])]
    process.exitCode = ends.some(({ error }) => error !== null) ? 1 : 0
  })
}

/** Returns the API keys of the file that the account does not have; all of them when keys cannot be listed. */
async function listMissingKeys(server: ServerClient, wanted: readonly { name: string }[]): Promise<string[]> {
  if (wanted.length === 0) return []
  const { KeyList } = await import('../../../features/accounts/keys/schemas.ts')
  const { keys } = await server.ask(KeyList, 'GET', '/api/keys').catch((error: unknown) => {
    if (error instanceof AppError) return { keys: [] }
    throw error
  })
  const names = keys.map(({ name }) => name)
  return wanted.flatMap(({ name }) => (names.includes(name) ? [] : [name]))
}

function warnOfKeys(missing: readonly string[]): void {
  if (missing.length === 0) return
  const names = missing.join(', ')
  process.stderr.write(toPlain(`stead: apply makes no API keys; the file names ${names} (stead keys create NAME)\n`))
}

/** Asks for confirmation. @throws UsageError without a terminal, AppError `invalid` when the answer is no. */
function requireConsent(file: string, { yes, json }: ApplyOptions, plans: readonly AgentPlan[]): void {
  if (yes) return
  if (json || file === '-' || !process.stdin.isTTY) {
    throw new UsageError('--yes: is required where nobody can be asked; nothing was changed')
  }
  const gone = plans.flatMap(({ verb, name }) => (verb === 'delete' ? [toPlain(name)] : []))
  const isAgreed =
    confirm('Apply this?') && (gone.length === 0 || confirm(`Delete ${gone.join(', ')}, with all they keep?`))
  if (!isAgreed) throw new AppError('invalid', 'apply: nothing was changed')
}

const DONE = { create: 'is made', change: 'is changed', delete: 'is deleted' } as const

function describeOutcome({ verb, name }: AgentPlan, { error, webhookSecret }: Outcome): string {
  const end = error === null ? DONE[verb] : `is not as the file says: ${error}`
  const secret = webhookSecret === null ? '' : `\nThe secret of its webhook channel, told this once: ${webhookSecret}`
  return toPlain(`${name} ${end}${secret}`)
}

function describeHeartbeat({ error }: HeartbeatOutcome): string {
  return error === null ? 'The heartbeat is changed' : `The heartbeat is not as the file says: ${error}`
}

function toJson({ verb, id, name, changes }: AgentPlan, outcome: Outcome | undefined) {
  const { webhookSecret, error } = outcome ?? { webhookSecret: null, error: null }
  return {
    verb,
    id: outcome?.id ?? id,
    name,
    changes,
    isDone: outcome !== undefined && error === null,
    error,
    ...(webhookSecret !== null && { webhookSecret }),
  }
}

/** Outcome for one agent. `webhookSecret` is returned only once, when a webhook channel is created. */
type Outcome = { id: string | null; error: string | null; webhookSecret: string | null }

const Answer = z.looseObject({
  agent: z.looseObject({ id: z.string() }).optional(),
  error: z.string().optional(),
  secret: z.string().nullish(),
})

/**
 * Makes the calls of a plan in order and stops at the first refusal; the next apply continues.
 * @throws NotRunningError when the server does not answer.
 */
export async function carryOut(server: ServerClient, { id: known, calls }: AgentPlan): Promise<Outcome> {
  const outcome: Outcome = { id: known, error: null, webhookSecret: null }
  try {
    for (const call of calls) {
      const answer = await send(server, outcome.id, call)
      outcome.id ??= answer.agent?.id ?? null
      outcome.webhookSecret ??= answer.secret ?? null
      // The agent exists but does not run; its other settings are still written.
      outcome.error ??= answer.error ?? null
    }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    outcome.error = error.message
  }
  return outcome
}

async function send(server: ServerClient, id: string | null, { method, path, body }: Call) {
  const target = path.startsWith('/api/') ? path : `/api/agents/${encodeURIComponent(id ?? '')}${path}`
  const isOfAgent = method === 'POST' && path === '/api/scheduled-tasks'
  return server.ask(Answer, method, target, isOfAgent ? { ...body, agentId: id } : body)
}
