import { z } from 'zod'

/** `GET /api/infra-mcp/health`. */
export const ServerHealth = z.object({
  name: z.string(),
  version: z.string(),
  description: z.string(),
  status: z.literal('operational'),
  official_repo: z.string(),
  docker_image: z.string(),
  documentation: z.string(),
  timestamp: z.string(),
})

/** `GET /api/infra-mcp/info`. */
export const ServerInfo = z.object({
  name: z.string(),
  version: z.string(),
  description: z.string(),
  maintained_by: z.string(),
  repository: z.string(),
  docker_image: z.string(),
  documentation: z.string(),
  setup_guide: z.string(),
  features: z.array(z.string()),
})

/** `GET /api/infra-mcp/setup`. */
export const ServerSetup = z.object({
  title: z.string(),
  recommended_approach: z.string(),
  quick_start: z.record(z.string(), z.string()),
  docker_config_example: z.object({
    mcpServers: z.record(
      z.string(),
      z.object({ command: z.string(), args: z.array(z.string()), env: z.record(z.string(), z.string()) }),
    ),
  }),
  documentation_links: z.record(z.string(), z.string()),
})

const ByCategory = z.record(z.string(), z.array(z.string()))

/** `GET /api/infra-mcp/tools`: tool names by category. */
export const ServerTools = z.object({
  source: z.string(),
  tool_categories: ByCategory,
  complete_reference: z.string(),
})

/** `GET /api/infra-mcp/examples`: prompts by category. */
export const ServerExamples = z.object({ description: z.string(), examples: ByCategory })

/** `POST /api/infra-mcp/validate-config`. */
export const ValidConfig = z.object({ valid: z.literal(true), message: z.string(), next_steps: z.array(z.string()) })
