import type { Command } from 'commander'
import { z } from 'zod'
import { LogHistory } from '../../features/agents/logs/schemas.ts'
import { SentMessage } from '../../features/conversations/chat/schemas.ts'
import { addExample } from '../example.ts'
import { UsageError } from '../exit.ts'
import { changeAll, type FleetAction, requireOneOrAll } from './all-agents.ts'
import type { ServerClient } from './client.ts'
import { findAgent, findAgents } from './find-agent.ts'
import { readCount } from './read-count.ts'
import { updateCommand } from './rollout/command.ts'
import { addServerOptions, type ServerOptions, withServer } from './server.ts'
import { toPlain, toTable } from './table.ts'

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
  const { id } = await findAgent(server, wanted)
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
  const agent = await findAgent(server, wanted)
  const path = `/api/agents/${encodeURIComponent(agent.id)}/${name}`
  const json = await server.ask(z.looseObject({ success: z.literal(true) }), 'POST', path)
  return { text: toPlain(`${agent.name} ${said}`), json: { id: agent.id, ...json } }
}

async function deleteAgent(server: ServerClient, wanted: string): Promise<Report> {
  const agent = await findAgent(server, wanted)
  await server.ask(z.unknown(), 'DELETE', `/api/agents/${encodeURIComponent(agent.id)}`)
  return { text: toPlain(`${agent.name} is deleted`), json: { id: agent.id, deleted: true } }
}

async function chat(server: ServerClient, wanted: string, message: string): Promise<Report> {
  const { id } = await findAgent(server, wanted)
  const sent = await server.ask(SentMessage, 'POST', '/api/chat', { agentId: id, message })
  return { text: toPlain(sent.reply), json: sent }
}
