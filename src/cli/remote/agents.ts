import type { Command } from 'commander'
import { z } from 'zod'
import { inLanes } from '../../core/concurrency/keyed-queue.ts'
import { errorMessage } from '../../core/errors.ts'
import { LogHistory } from '../../features/agents/logs/schemas.ts'
import type { WebAgent } from '../../features/agents/registry/schemas.ts'
import { SentMessage } from '../../features/conversations/chat/schemas.ts'
import { addExample } from '../example.ts'
import { NotRunningError, UsageError } from '../exit.ts'
import { agentTestCommand, TEST_EXIT_CODES } from './agent-test.ts'
import type { ServerClient } from './client.ts'
import { findAgents, findRemoteAgent } from './find-agent.ts'
import { updateCommand } from './rollout/command.ts'
import { addServerOptions, type ServerOptions, withServer } from './server.ts'
import { readCount, toPlain, toTable } from './table.ts'

const EXIT_CODES = 'Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 75 no server answers, 78 a setting is bad.'
const MAX_LOG_LINES = 1000

/** Actions on one agent or on all agents of the caller. */
const FLEET_ACTIONS: readonly (FleetAction & { description: string })[] = [
  { name: 'start', description: 'starts an agent that was stopped', said: 'is started' },
  { name: 'stop', description: 'stops an agent; what it keeps stays', said: 'is stopped' },
]

/** An action on one agent and the message that reports it. */
const ACTIONS: readonly [name: string, description: string, said: string][] = [
  ['restart', 'stops an agent and starts it again', 'is started again'],
  ['repair', 'puts an agent that does not work right', 'is repaired'],
]

/** Adds `agents`: manages the caller's agents on a running server. */
export function agentsCommand(program: Command): void {
  const agents = program.command('agents').description('looks after agents of a running server').helpCommand(false)
  addExample(agents, 'stead agents list\nSTEAD_URL=https://stead.example STEAD_KEY_FILE=~/.stead/key stead agents list')
  withOptions(agents, 'list', 'list --json')
    .description('lists the agents')
    .action((options: ServerOptions) => run(options, listAgents))
  withOptions(agents, 'logs <agent>', 'logs Ada --lines 50')
    .description('prints what an agent wrote last, the newest line at the end')
    .option('--lines <count>', `how many lines, at most ${MAX_LOG_LINES}`, '100')
    .action((agent: string, options: ServerOptions & { lines: string }) => {
      const lines = readCount('--lines', options.lines, MAX_LOG_LINES)
      return run(options, (server) => readLogs(server, agent, lines))
    })
  for (const { description, ...action } of FLEET_ACTIONS) {
    const { name, said } = action
    withOptions(agents, `${name} [agent]`, `${name} Ada\n  stead agents ${name} --all`)
      .description(description)
      .option('--all', 'all of your agents, with a summary; exit code 1 when some failed', false)
      .action((agent: string | undefined, options: ServerOptions & { all: boolean }) => {
        requireOneOrAll(name, agent, options.all)
        return agent === undefined
          ? changeAll(action, options)
          : run(options, (server) => act(server, name, agent, said))
      })
  }
  for (const [name, description, said] of ACTIONS) {
    withOptions(agents, `${name} <agent>`, `${name} Ada`)
      .description(description)
      .action((agent: string, options: ServerOptions) => run(options, (server) => act(server, name, agent, said)))
  }
  updateCommand(withOptions(agents, 'update [agent]', 'update Ada\n  stead agents update --all --everybody'))
  withOptions(agents, 'delete <agent>', 'delete Ada --yes')
    .description('deletes an agent with all it keeps')
    .option('--yes', 'really delete it', false)
    .action((agent: string, options: ServerOptions & { yes: boolean }) => {
      if (!options.yes) throw new UsageError('--yes: is required, for a deleted agent does not come back')
      return run(options, (server) => deleteAgent(server, agent))
    })
  const examples = 'stead agents test Ada\nstead agents test Ada --estimate'
  agentTestCommand(addExample(addServerOptions(agents.command('test <agent>')), examples, TEST_EXIT_CODES))
  withOptions(agents, 'chat <agent> [message...]', `chat Ada 'What is new?'\ngit diff | stead agents chat Ada`)
    .description('says something to an agent and prints its reply; without a message it is read from standard input')
    .action(async (agent: string, words: string[], options: ServerOptions) => {
      const message = words.length > 0 ? words.join(' ') : await Bun.stdin.text()
      return run(options, (server) => chat(server, agent, message))
    })
}

/** Output of a command: text for people, JSON for programs. */
type Report = { text: string; json: unknown }

function withOptions(agents: Command, usage: string, example: string): Command {
  return addExample(addServerOptions(agents.command(usage)), `stead agents ${example}`, EXIT_CODES)
}

async function run(options: ServerOptions, command: (server: ServerClient) => Promise<Report>): Promise<void> {
  const { text, json } = await withServer(options, command)
  process.stdout.write(`${options.json ? JSON.stringify(json) : text}\n`)
}

async function listAgents(server: ServerClient): Promise<Report> {
  const agents = await findAgents(server)
  const rows = agents.map(({ name, id, status, model }) => [name, id, status, model])
  return {
    text: agents.length === 0 ? 'No agents yet.' : toTable(['NAME', 'ID', 'STATUS', 'MODEL'], rows),
    json: { agents },
  }
}

async function readLogs(server: ServerClient, wanted: string, limit: number): Promise<Report> {
  const { id } = await findRemoteAgent(server, wanted)
  const { lines, entries } = await server.ask(
    LogHistory,
    'GET',
    `/api/logs/${encodeURIComponent(id)}/history?limit=${limit}`,
  )
  const texts = entries?.map(({ at, text }) => `${at} ${text}`) ?? lines.slice(-limit)
  return {
    text: texts.length === 0 ? 'It has written nothing yet.' : texts.map(toPlain).join('\n'),
    json: { agentId: id, lines: entries ?? lines },
  }
}

async function act(server: ServerClient, name: string, wanted: string, said: string): Promise<Report> {
  const agent = await findRemoteAgent(server, wanted)
  const path = `/api/agents/${encodeURIComponent(agent.id)}/${name}`
  const json = await server.ask(z.looseObject({ success: z.literal(true) }), 'POST', path)
  return { text: toPlain(`${agent.name} ${said}`), json: { id: agent.id, ...json } }
}

async function deleteAgent(server: ServerClient, wanted: string): Promise<Report> {
  const agent = await findRemoteAgent(server, wanted)
  await server.ask(z.unknown(), 'DELETE', `/api/agents/${encodeURIComponent(agent.id)}`)
  return { text: toPlain(`${agent.name} is deleted`), json: { id: agent.id, deleted: true } }
}

async function chat(server: ServerClient, wanted: string, message: string): Promise<Report> {
  const { id } = await findRemoteAgent(server, wanted)
  const sent = await server.ask(SentMessage, 'POST', '/api/chat', { agentId: id, message })
  return { text: toPlain(sent.reply), json: sent }
}

/** `agents start --all` and `agents stop --all`: the request and the statuses it applies to. */
type FleetAction = { name: 'start' | 'stop'; said: string }

type Outcome = { id: string; name: string; error: string | null }

const AT_ONCE = 8
/** An agent in `error` may still have a running container. */
const STOPPABLE: ReadonlySet<WebAgent['status']> = new Set(['running', 'sleeping', 'provisioning', 'unknown', 'error'])

/** Checks the target. @throws UsageError unless either an agent or `--all` is given. */
function requireOneOrAll(action: string, wanted: string | undefined, all: boolean): void {
  if ((wanted === undefined) !== all) throw new UsageError(`agents ${action}: name an agent, or say --all`)
}

/** Starts or stops all agents of the caller; exit code 1 when one failed. */
async function changeAll(action: FleetAction, options: ServerOptions): Promise<void> {
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
