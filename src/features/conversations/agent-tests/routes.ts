import { Hono } from 'hono'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import { limitRate } from '../../../http/rate-limit.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { AgentTestList, OneAgentTest } from './schemas.ts'
import { type AgentTestDeps, getTest, listTests, startTest } from './tests.ts'

/** Routes for the injection tests of agents. */
export function agentTestsWeb(deps: AgentTestDeps & { guards: Guards; requestsPerMinute: { chat: number } }) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards

  app.get(
    '/api/agents/:id/injection-tests',
    endpoint({
      summary: 'Lists the injection tests of an agent',
      tag: 'Agent tools',
      responses: { 200: AgentTestList },
      errors: ['not_found'],
    }),
    signedIn,
    (c) => c.json(listTests(deps, { kind: 'user', user: c.var.user }, c.req.param('id'))),
  )

  app.post(
    '/api/agents/:id/injection-tests',
    endpoint({
      summary: 'Starts an injection test of an agent',
      tag: 'Agent tools',
      responses: { 202: OneAgentTest },
      errors: ['not_found', 'conflict'],
      scope: 'agents',
    }),
    limitRate(() => deps.requestsPerMinute.chat, 'Too many requests, please slow down.'),
    signedIn,
    async (c) => c.json({ test: await startTest(deps, { kind: 'user', user: c.var.user }, c.req.param('id')) }, 202),
  )

  app.get(
    '/api/agents/:id/injection-tests/:testId',
    endpoint({
      summary: 'Returns an injection test with its results',
      tag: 'Agent tools',
      responses: { 200: OneAgentTest },
      errors: ['not_found'],
    }),
    signedIn,
    (c) => {
      const { id, testId } = c.req.param()
      return c.json({ test: getTest(deps.db, { kind: 'user', user: c.var.user }, id, testId) })
    },
  )

  return app
}
