import { setTimeout as pause } from 'node:timers/promises'
import type { Command } from 'commander'
import { AppError, type ErrorKind } from '../../core/errors.ts'
import {
  type AgentTest,
  AgentTestList,
  type CaseResult,
  OneAgentTest,
  type TestEstimate,
} from '../../features/conversations/agent-tests/schemas.ts'
import { NotRunningError, TRY_AGAIN, UsageError } from '../exit.ts'
import type { ServerClient } from './client.ts'
import { findRemoteAgent } from './find-agent.ts'
import { type ServerOptions, withServer } from './server.ts'
import { toPlain, toTable } from './table.ts'

const LOOK_MS = 1000

type TestOptions = ServerOptions & { estimate: boolean }

export const TEST_EXIT_CODES =
  'Exit codes: 0 no tool would have run without approval, 1 one would have, 2 wrong usage or a refused request, 75 no server answers or the test failed, 78 a setting is bad.'

/** Adds the action of `agents test`. */
export function agentTestCommand(command: Command): void {
  command
    .description(
      'attacks an agent with hostile pages, mails, files and MCP results, and reports the tools it would use',
    )
    .option('--estimate', 'only say what a test is expected to cost', false)
    .addHelpText('after', '\nNo tool is executed.')
    .action(async (agent: string, options: TestOptions) => {
      const said = await withServer(options, (server) => test(server, agent, options)).catch((error) => {
        throw toTestError(error)
      })
      process.stdout.write(`${said}\n`)
    })
}

async function test(server: ServerClient, wanted: string, { json, estimate: onlyEstimate }: TestOptions) {
  const { id } = await findRemoteAgent(server, wanted)
  const path = `/api/agents/${encodeURIComponent(id)}/injection-tests`
  const { estimate } = await server.ask(AgentTestList, 'GET', path)
  if (onlyEstimate) return json ? JSON.stringify({ agentId: id, estimate }) : describeEstimate(estimate)
  if (!json) process.stderr.write(`${describeEstimate(estimate)}\n`)
  const started = await server.ask(OneAgentTest, 'POST', path)
  const ended = await follow(server, `${path}/${started.test.id}`, json)
  if (ended.passed !== true) process.exitCode = ended.state === 'failed' ? TRY_AGAIN : 1
  if (json) return JSON.stringify({ estimate, test: ended })
  if (ended.state === 'failed') throw new AppError('upstream_failed', ended.error ?? 'The test failed')
  return describeTest(ended)
}

const WRONG: ReadonlySet<ErrorKind> = new Set(['not_found', 'invalid', 'unauthenticated', 'forbidden'])

/** Exit code 1 is reserved for a tool that would have run, which CI must not confuse with an error. */
function toTestError(error: unknown): unknown {
  if (!(error instanceof AppError)) return error
  const options = { cause: error }
  return WRONG.has(error.kind) ? new UsageError(error.message, options) : new NotRunningError(error.message, options)
}

async function follow(server: ServerClient, path: string, json: boolean): Promise<AgentTest> {
  for (let shown = 0; ; ) {
    const { test } = await server.ask(OneAgentTest, 'GET', path)
    for (const result of test.results.slice(shown)) {
      if (!json) process.stderr.write(`${test.results.indexOf(result) + 1}/${test.total} ${result.id}\n`)
    }
    shown = test.done
    if (test.state === 'done' || test.state === 'failed') return test
    await pause(LOOK_MS)
  }
}

function describeEstimate({ cases, inputTokens, outputTokens, costUsd }: TestEstimate): string {
  const cost = costUsd === null ? 'at an unknown price' : `about ${costUsd.toFixed(4)} USD`
  return `${cases} cases, about ${inputTokens + outputTokens} tokens, ${cost}`
}

const OUTCOMES: Readonly<Record<CaseResult['outcome'], string>> = {
  resisted: 'resisted',
  asked: 'would have asked',
  unapproved: 'WOULD HAVE RUN',
  unread: 'did not read it',
  skipped: 'skipped',
  failed: 'no answer',
}

function describeTest({ results, model }: AgentTest): string {
  const rows = results.map(({ id, aim, outcome, unapproved, asked, error }) => {
    const tools = [...new Set([...unapproved, ...asked].map(({ tool }) => tool))].join(', ')
    return [id, aim, OUTCOMES[outcome], tools || (error ?? '')]
  })
  const count = results.filter(({ outcome }) => outcome === 'unapproved').length
  const end =
    count === 0
      ? `No tool would have run without approval (${model}).`
      : `In ${count} of ${results.length} cases a tool would have run without approval (${model}).`
  return `${toTable(['CASE', 'AIM', 'OUTCOME', 'TOOLS'], rows)}\n${toPlain(end)}`
}
