import { Hono } from 'hono'
import { z } from 'zod'
import type { Clock } from '../../../core/clock.ts'
import { endpoint } from '../../../http/endpoint.ts'
import type { BackendEnv } from '../../../http/env.ts'
import type { InternalKeyGuard } from '../../../http/internal-key.ts'
import { validate } from '../../../http/validate.ts'
import {
  DOCUMENTATION_URL,
  EXAMPLES,
  findKeyProblems,
  INFO,
  REPOSITORY_URL,
  SERVER_HEALTH,
  SETUP,
  TOOLS,
} from './content.ts'
import { ServerExamples, ServerHealth, ServerInfo, ServerSetup, ServerTools, ValidConfig } from './schemas.ts'

const ConfigRequest = z
  .object({ api_key: z.unknown().optional(), endpoint: z.string('endpoint must be text').optional() })
  .meta({ examples: [{ api_key: 'rnd_0123456789abcdef0123456789abcdef' }] })

/** Static information about a third-party infrastructure MCP server. */
export function infraMcpBackend(deps: { clock: Clock; internalKey: InternalKeyGuard }) {
  const app = new Hono<BackendEnv>()
  const { internalKey } = deps

  app.get(
    '/api/infra-mcp/health',
    endpoint({
      summary: 'Returns the server of the guide',
      tag: 'Infrastructure guide',
      responses: { 200: ServerHealth },
    }),
    internalKey,
    (c) => c.json({ ...SERVER_HEALTH, timestamp: deps.clock.now().toISOString() }),
  )
  app.get(
    '/api/infra-mcp/info',
    endpoint({ summary: 'Describes the server', tag: 'Infrastructure guide', responses: { 200: ServerInfo } }),
    internalKey,
    (c) => c.json(INFO),
  )
  app.get(
    '/api/infra-mcp/setup',
    endpoint({
      summary: 'Describes how to set up the server',
      tag: 'Infrastructure guide',
      responses: { 200: ServerSetup },
    }),
    internalKey,
    (c) => c.json(SETUP),
  )
  app.get(
    '/api/infra-mcp/tools',
    endpoint({
      summary: 'Lists the tools of the server',
      tag: 'Infrastructure guide',
      responses: { 200: ServerTools },
    }),
    internalKey,
    (c) => c.json(TOOLS),
  )
  app.get(
    '/api/infra-mcp/examples',
    endpoint({ summary: 'Lists example prompts', tag: 'Infrastructure guide', responses: { 200: ServerExamples } }),
    internalKey,
    (c) => c.json(EXAMPLES),
  )
  app.get(
    '/api/infra-mcp/docs',
    endpoint({
      summary: 'Redirects to the documentation of the server',
      tag: 'Infrastructure guide',
      responses: { 301: null },
    }),
    internalKey,
    (c) => c.redirect(DOCUMENTATION_URL, 301),
  )
  app.get(
    '/api/infra-mcp/github',
    endpoint({
      summary: 'Redirects to the repository of the server',
      tag: 'Infrastructure guide',
      responses: { 301: null },
    }),
    internalKey,
    (c) => c.redirect(REPOSITORY_URL, 301),
  )

  app.post(
    '/api/infra-mcp/validate-config',
    endpoint({
      summary: 'Checks a key of the server',
      tag: 'Infrastructure guide',
      responses: { 200: ValidConfig },
      worksOnFullDisk: true,
    }),
    internalKey,
    validate('json', ConfigRequest),
    (c) => {
      const problems = findKeyProblems(c.req.valid('json').api_key)
      if (problems) return c.json({ valid: false, ...problems }, 400)
      return c.json({
        valid: true,
        message: 'Configuration looks valid',
        next_steps: [
          'Put the key into the configuration of your MCP client',
          'Restart the client, so that it reads the configuration again',
          'Ask the agent to list your workspaces',
        ],
      })
    },
  )

  return app
}
