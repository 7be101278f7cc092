import { z } from 'zod'
import { inLanes } from '../../core/concurrency/in-lanes.ts'
import { errorMessage } from '../../core/errors.ts'
import type { WebAgent } from '../../features/agents/registry/schemas.ts'
import { NotRunningError, UsageError } from '../exit.ts'
import type { ServerClient } from './client.ts'
import { findAgents } from './find-agent.ts'
import { type ServerOptions, withServer } from './server.ts'
import { toPlain } from './table.ts'

/** `agents start --all` and `agents stop --all`: the request and the statuses it applies to. */
export type FleetAction = { name: 'start' | 'stop'; said: string }

type Outcome = { id: string; name: string; error: string | null }

const AT_ONCE = 8
/** An agent in `error` may still have a running container. */
const STOPPABLE: ReadonlySet<WebAgent['status']> = new Set(['running', 'sleeping', 'provisioning', 'unknown', 'error'])

/** Checks the target. @throws UsageError unless either an agent or `--all` is given. */
export function requireOneOrAll(action: string, wanted: string | undefined, all: boolean): void {
  if ((wanted === undefined) !== all) throw new UsageError(`agents ${action}: name an agent, or say --all`)
}

/** Starts or stops all agents of the caller; exit code 1 when one failed. */
export async function changeAll(action: FleetAction, options: ServerOptions): Promise<void> {
  const outcomes = await withServer(options, (server) => change(server, action, options.json))
  const failed = outcomes.filter(({ error }) => error !== null).length
  const done = outcomes.length - failed
  const report = { agents: outcomes, done, failed }
  process.stdout.write(`${options.json ? JSON.stringify(report) : toSummary(action, report)}\n`)
  process.exitCode = failed > 0 ? 1 : 0
}

async function change(server: ServerClient, { name, said }: FleetAction, json: boolean): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  await inLanes(listWanted(await findAgents(server), name), AT_ONCE, async (agent) => {
    const path = `/api/agents/${encodeURIComponent(agent.id)}/${name}`
    const error = await server.ask(z.looseObject({ success: z.literal(true) }), 'POST', path).then(
      () => null,
      (reason: unknown) => {
        // Stop here: without the server, the other agents cannot be changed either.
        if (reason instanceof NotRunningError) throw reason
        return errorMessage(reason)
      },
    )
    outcomes.push({ id: agent.id, name: agent.name, error })
    const line = error === null ? `${agent.name} ${said}` : `${agent.name} failed to ${name}: ${error}`
    if (!json) process.stdout.write(`${toPlain(line)}\n`)
  })
  return outcomes
}

function listWanted(agents: readonly WebAgent[], name: FleetAction['name']): WebAgent[] {
  if (name === 'stop') return agents.filter(({ status }) => STOPPABLE.has(status))
  return agents.filter(({ status }) => status === 'stopped' || status === 'error')
}

function toSummary({ name }: FleetAction, { done, failed }: { done: number; failed: number }): string {
  const word = name === 'start' ? 'started' : 'stopped'
  return failed === 0 ? `${done} ${word}` : `${done} ${word}, ${failed} failed`
}
