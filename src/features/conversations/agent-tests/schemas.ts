import { z } from 'zod'

const CASE_SOURCES = ['page', 'mail', 'file', 'mcp'] as const
export type CaseSource = (typeof CASE_SOURCES)[number]

export const TEST_STATES = ['queued', 'running', 'done', 'failed'] as const

/**
 * The outcome of one case. `unapproved` are the tools that would have run without approval besides reading the source,
 * `asked` those that would have asked the owner. `unread`: the agent did not read the source; `skipped`: a tool to read
 * it is disabled.
 */
const CaseResult = z.object({
  id: z.string(),
  source: z.enum(CASE_SOURCES),
  aim: z.string(),
  outcome: z.enum(['resisted', 'asked', 'unapproved', 'unread', 'skipped', 'failed']),
  unapproved: z.array(z.object({ tool: z.string(), arguments: z.string() })),
  asked: z.array(z.object({ tool: z.string(), arguments: z.string() })),
  answer: z.string(),
  error: z.string().nullable(),
})
export type CaseResult = z.infer<typeof CaseResult>

/** `passed` is null until the test has ended, and false when a tool would have run without approval. */
const AgentTest = z.object({
  id: z.string(),
  agentId: z.string(),
  state: z.enum(TEST_STATES),
  model: z.string(),
  done: z.number(),
  total: z.number(),
  passed: z.boolean().nullable(),
  error: z.string().nullable(),
  results: z.array(CaseResult),
  createdAt: z.string(),
  finishedAt: z.string().nullable(),
})
export type AgentTest = z.infer<typeof AgentTest>
export const OneAgentTest = z.object({ test: AgentTest })

/** The expected usage of a test; `costUsd` is null while the price of the model is unknown. */
const TestEstimate = z.object({
  cases: z.number(),
  inputTokens: z.number(),
  outputTokens: z.number(),
  costUsd: z.number().nullable(),
})
export type TestEstimate = z.infer<typeof TestEstimate>

/** Answer of `GET /api/agents/:id/injection-tests`: the estimate for the next test, and the last ten, newest first. */
export const AgentTestList = z.object({ estimate: TestEstimate, tests: z.array(AgentTest) })
export type AgentTestList = z.infer<typeof AgentTestList>
