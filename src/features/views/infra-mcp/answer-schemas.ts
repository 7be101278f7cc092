import { z } from 'zod'

/** `GET /api/infra-mcp/health`. */
export const InfraMcpHealthAnswer = z.object({
  timestamp: z.string(),
  status: z.literal('operational'),
  official_repo: z.string(),
  docker_image: z.string(),
  documentation: z.string(),
  name: z.string(),
  version: z.literal('1.0.0'),
  description: z.string(),
})

/** `GET /api/infra-mcp/info`. */
export const InfraMcpInfoAnswer = z.object({
  name: z.string(),
  version: z.literal('latest'),
  description: z.string(),
  maintained_by: z.literal('Render'),
  repository: z.string(),
  docker_image: z.string(),
  documentation: z.string(),
  setup_guide: z.string(),
  features: z.array(z.string()),
})

/** `GET /api/infra-mcp/setup`. */
export const InfraMcpSetupAnswer = z.object({
  title: z.string(),
  recommended_approach: z.string(),
  quick_start: z.object({ step_1: z.string(), step_2: z.string(), step_3: z.string() }),
  docker_config_example: z.object({
    mcpServers: z.object({
      render: z.object({
        command: z.literal('docker'),
        args: z.array(z.string()),
        env: z.object({ RENDER_API_KEY: z.literal('rnd_your_key') }),
      }),
    }),
  }),
  documentation_links: z.object({ overview: z.string(), repository: z.string(), api_keys: z.string() }),
})

/** `GET /api/infra-mcp/tools`. */
export const InfraMcpToolsAnswer = z.object({
  source: z.string(),
  tool_categories: z.object({
    workspaces: z.array(z.string()),
    services: z.array(z.string()),
    deployments: z.array(z.string()),
    logs: z.array(z.string()),
    metrics: z.array(z.string()),
    postgres: z.array(z.string()),
    key_value: z.array(z.string()),
  }),
  complete_reference: z.string(),
})

/** `GET /api/infra-mcp/examples`. */
export const InfraMcpExamplesAnswer = z.object({
  description: z.string(),
  examples: z.object({
    service_management: z.array(z.string()),
    deployment_monitoring: z.array(z.string()),
    database_management: z.array(z.string()),
    monitoring_and_logs: z.array(z.string()),
    troubleshooting: z.array(z.string()),
  }),
})

/** `POST /api/infra-mcp/validate-config`. */
export const InfraMcpValidateConfigAnswer = z.object({
  valid: z.literal(true),
  message: z.string(),
  next_steps: z.array(z.string()),
})
