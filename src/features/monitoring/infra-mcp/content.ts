export const REPOSITORY_URL = 'https://github.com/render-oss/render-mcp-server'
export const DOCUMENTATION_URL = 'https://render.com/docs/mcp-server'
const API_KEYS_URL = 'https://dashboard.render.com/u/settings#api-keys'
const DOCKER_IMAGE = 'ghcr.io/render-oss/render-mcp-server'
const HOSTED_URL = 'https://mcp.render.com/mcp'

/** The third-party server that these pages describe. No request goes to it. */
const SERVER = {
  name: 'Render MCP Server Gateway',
  version: '1.0.0',
  description: 'What an agent needs to know to manage infrastructure at Render through its MCP server.',
} as const

export const INFO = {
  name: 'Render MCP Server',
  version: 'latest',
  description: 'An MCP server that lets agents create, inspect and query services at Render.',
  maintained_by: 'Render',
  repository: REPOSITORY_URL,
  docker_image: DOCKER_IMAGE,
  documentation: DOCUMENTATION_URL,
  setup_guide: `${DOCUMENTATION_URL}#setup`,
  features: [
    'Selects the workspace that the other tools work in',
    'Creates web services, static sites and cron jobs',
    'Changes the environment variables of a service',
    'Lists deploys and their outcome',
    'Searches logs by service, level and text',
    'Reads metrics of processor, memory and requests',
    'Creates Postgres and key-value instances, and queries Postgres read-only',
  ],
} as const

export const SERVER_HEALTH = {
  ...SERVER,
  status: 'operational',
  official_repo: REPOSITORY_URL,
  docker_image: DOCKER_IMAGE,
  documentation: DOCUMENTATION_URL,
} as const

export const SETUP = {
  title: 'Connect an agent to the Render MCP server',
  recommended_approach: `Use the server that Render hosts (${HOSTED_URL}); run the Docker image where requests must leave from your own machine.`,
  quick_start: {
    step_1: `Make an API key at ${API_KEYS_URL}. It begins with rnd_ and is shown once.`,
    step_2: 'Put the key into the configuration of your MCP client, as below, and nowhere else.',
    step_3: 'Ask the agent to list your workspaces, then to select one: every other tool works in it.',
  },
  docker_config_example: {
    mcpServers: {
      render: {
        command: 'docker',
        args: ['run', '-i', '--rm', '-e', 'RENDER_API_KEY', DOCKER_IMAGE],
        env: { RENDER_API_KEY: 'rnd_your_key' },
      },
    },
  },
  documentation_links: {
    overview: DOCUMENTATION_URL,
    repository: REPOSITORY_URL,
    api_keys: API_KEYS_URL,
  },
} as const

/** Tool names by category. */
export const TOOLS = {
  source: REPOSITORY_URL,
  tool_categories: {
    workspaces: ['list_workspaces', 'select_workspace', 'get_selected_workspace'],
    services: [
      'list_services',
      'get_service',
      'create_web_service',
      'create_static_site',
      'create_cron_job',
      'update_environment_variables',
    ],
    deployments: ['list_deploys', 'get_deploy'],
    logs: ['list_logs', 'list_log_label_values'],
    metrics: ['get_metrics'],
    postgres: ['list_postgres_instances', 'get_postgres', 'create_postgres', 'query_render_postgres'],
    key_value: ['list_key_value', 'get_key_value', 'create_key_value'],
  },
  complete_reference: `${REPOSITORY_URL}#tools`,
} as const

/** Example prompts for an agent that has the tools. */
export const EXAMPLES = {
  description: 'Sentences that an agent with these tools understands.',
  examples: {
    service_management: [
      'List the services of my workspace and say which are suspended',
      'Create a web service from this repository in Frankfurt',
      'Set LOG_LEVEL to debug on the service api',
      'Create a cron job that runs the clean-up script every night at three',
    ],
    deployment_monitoring: [
      'Did the last deploy of api succeed?',
      'Show the five latest deploys of api with their commits',
      'Which deploy of this week failed, and why?',
      'How long did the deploys of this month take?',
    ],
    database_management: [
      'List my Postgres instances and their plans',
      'How many users signed up this week? Look in the database main',
      'Which tables of main are largest?',
      'Create a key-value instance for the session cache',
    ],
    monitoring_and_logs: [
      'Show the error lines of api of the last hour',
      'What did memory of api look like during the last day?',
      'How many requests a minute does web get?',
      'Which status codes did web answer with today?',
    ],
    troubleshooting: [
      'The service api answers with 502: find out why',
      'Why is the worker out of memory since noon?',
      'Compare the logs before and after the last deploy',
      'Which of my services restart most often?',
    ],
  },
} as const

/** Error and advice for each defect of a key. */
const KEY_PROBLEMS = {
  missing: { error: 'api_key is required', help: `Make a key at ${API_KEYS_URL}.` },
  prefix: {
    error: 'api_key must start with rnd_',
    help: 'Check that the whole key was copied, from its first letter.',
  },
  length: { error: 'api_key appears too short', help: 'Keys have 40 characters or so: check that none is missing.' },
} as const

const PREFIX = 'rnd_'
const MIN_LENGTH = 20

/** Lists the formal defects of a key; only its provider knows whether it works. */
export function findKeyProblems(apiKey: unknown): { errors: string[]; help: string } | null {
  const problems = listProblems(apiKey)
  const [first] = problems
  return first ? { errors: problems.map(({ error }) => error), help: first.help } : null
}

function listProblems(apiKey: unknown) {
  if (typeof apiKey !== 'string' || apiKey === '') return [KEY_PROBLEMS.missing]
  return [
    ...(apiKey.startsWith(PREFIX) ? [] : [KEY_PROBLEMS.prefix]),
    ...(apiKey.length >= MIN_LENGTH ? [] : [KEY_PROBLEMS.length]),
  ]
}
