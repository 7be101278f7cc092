import { and, desc, eq, inArray, notInArray } from 'drizzle-orm'
import { AppError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import type { Db, Tx } from '../../../db/open.ts'
import { write } from '../../../db/write.ts'
import type { Principal } from '../../../http/env.ts'
import type { Enqueue } from '../../../jobs/queue.ts'
import { findReachableEndpoint } from '../../agents/registry/address.ts'
import { getAgent } from '../../agents/registry/agents.ts'
import type { AgentRow } from '../../agents/registry/tables.ts'
import type { Catalogue } from '../../ai/catalogue/catalogue.ts'
import type { Base } from '../../base.ts'
import { INJECTION_CASES } from './cases.ts'
import type { AgentTest, AgentTestList, TestEstimate } from './schemas.ts'
import { type AgentTestRow, agentTests } from './tables.ts'

/** The job that runs a test. */
export const AGENT_TEST_JOB = 'agent-tests.run'

const MAX_KEPT = 10
/** Tokens of the system prompt and the tool descriptions, times the model calls of a typical case. */
const INPUT_TOKENS_PER_CASE = 9000
const OUTPUT_TOKENS_PER_CASE = 300

export type AgentTestDeps = Base & { enqueue: Enqueue; catalogue: Pick<Catalogue, 'findPrice'> }

/** @throws AppError `not_found`. */
export function listTests(deps: AgentTestDeps, principal: Principal, agentId: string): AgentTestList {
  const agent = getAgent(deps.db, principal, agentId)
  const rows = deps.db
    .select()
    .from(agentTests)
    .where(eq(agentTests.agentId, agentId))
    .orderBy(desc(agentTests.sequence))
    .limit(MAX_KEPT)
    .all()
  return { estimate: estimate(deps, agent), tests: rows.map(toAgentTest) }
}

function estimate({ catalogue }: AgentTestDeps, { model }: AgentRow): TestEstimate {
  const cases = INJECTION_CASES.length
  const inputTokens = cases * INPUT_TOKENS_PER_CASE
  const outputTokens = cases * OUTPUT_TOKENS_PER_CASE
  const price = catalogue.findPrice(model)
  const costUsd =
    price === null
      ? null
      : (inputTokens * price.inputUsdPerMillion + outputTokens * price.outputUsdPerMillion) / 1_000_000
  return { cases, inputTokens, outputTokens, costUsd }
}

/** @throws AppError `not_found` for another user's agent or test. */
export function getTest(db: Db | Tx, principal: Principal, agentId: string, id: string): AgentTest {
  getAgent(db, principal, agentId)
  const isThis = and(eq(agentTests.id, id), eq(agentTests.agentId, agentId))
  const row = db.select().from(agentTests).where(isThis).get()
  if (!row) throw new AppError('not_found', 'Test not found')
  return toAgentTest(row)
}

/**
 * Starts a test of an agent with its present settings and model.
 * @throws AppError `not_found`; `conflict` OTHER_RUNTIME for OpenClaw, AGENT_NOT_RUNNING, TEST_RUNNING.
 */
export function startTest(deps: AgentTestDeps, principal: Principal, agentId: string): Promise<AgentTest> {
  return write(deps.db, (tx) => {
    const agent = getAgent(tx, principal, agentId)
    if (agent.kind !== 'stead') {
      throw new AppError('conflict', 'Only built-in agents can be tested', { code: 'OTHER_RUNTIME' })
    }
    if (!findReachableEndpoint(deps.sealer, agent)) {
      throw new AppError('conflict', 'Agent is not running', { code: 'AGENT_NOT_RUNNING' })
    }
    requireNoneRunning(tx, agentId)
    const row = { id: newId('tst'), agentId, state: 'queued', model: agent.model, createdAt: deps.clock.now() } as const
    const test = tx.insert(agentTests).values(row).returning().get()
    deleteOlder(tx, agentId)
    deps.enqueue(tx, AGENT_TEST_JOB, { id: test.id }, { share: agent.ownerId })
    return toAgentTest(test)
  })
}

function requireNoneRunning(tx: Tx, agentId: string): void {
  const isOpen = and(eq(agentTests.agentId, agentId), inArray(agentTests.state, ['queued', 'running']))
  if (!tx.select({ id: agentTests.id }).from(agentTests).where(isOpen).get()) return
  throw new AppError('conflict', 'A test of this agent is running', { code: 'TEST_RUNNING' })
}

function deleteOlder(tx: Tx, agentId: string): void {
  const ofAgent = eq(agentTests.agentId, agentId)
  const kept = tx
    .select({ id: agentTests.id })
    .from(agentTests)
    .where(ofAgent)
    .orderBy(desc(agentTests.sequence))
    .limit(MAX_KEPT)
    .all()
  const ids = kept.map(({ id }) => id)
  tx.delete(agentTests)
    .where(and(ofAgent, notInArray(agentTests.id, ids)))
    .run()
}

function toAgentTest(row: AgentTestRow): AgentTest {
  const { id, agentId, state, model, results, error, createdAt, finishedAt } = row
  return {
    id,
    agentId,
    state,
    model,
    done: results.length,
    total: INJECTION_CASES.length,
    passed: state === 'done' ? results.every(({ outcome }) => outcome !== 'unapproved') : null,
    error,
    results,
    createdAt: createdAt.toISOString(),
    finishedAt: finishedAt?.toISOString() ?? null,
  }
}
