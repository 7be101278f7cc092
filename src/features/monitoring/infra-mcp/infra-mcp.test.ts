import { expect, test } from 'bun:test'
import { INTERNAL_KEY, testPlatform } from '../../../../tests/harness/platform.ts'
import { bearer, json } from '../../../../tests/harness/requests.ts'

const OPERATOR = bearer(INTERNAL_KEY)
const PATHS = ['health', 'info', 'setup', 'tools', 'examples', 'docs', 'github']

function installation() {
  const { backend, clock } = testPlatform()
  return {
    clock,
    get: (name: string, headers: Record<string, string> = OPERATOR) =>
      backend.request(`/api/infra-mcp/${name}`, { headers, redirect: 'manual' }),
    validate: (body: unknown, headers: Record<string, string> = OPERATOR) =>
      backend.request('/api/infra-mcp/validate-config', json('POST', body, headers)),
  }
}

test('GET /api/infra-mcp/health: 200 with name and origin of the server', async () => {
  const { get, clock } = installation()
  const response = await get('health')
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({
    name: expect.any(String),
    version: '1.0.0',
    description: expect.any(String),
    status: 'operational',
    official_repo: expect.stringMatching(/^https:/),
    docker_image: expect.any(String),
    documentation: expect.stringMatching(/^https:/),
    timestamp: clock.now().toISOString(),
  })
})

test('GET /api/infra-mcp/info: 200 with seven features', async () => {
  const body = await (await installation().get('info')).json()
  expect(Object.keys(Object(body)).sort()).toEqual([
    'description',
    'docker_image',
    'documentation',
    'features',
    'maintained_by',
    'name',
    'repository',
    'setup_guide',
    'version',
  ])
  expect(body).toMatchObject({ features: Array(7).fill(expect.any(String)) })
})

test('GET /api/infra-mcp/setup: 200 with three steps and an example', async () => {
  expect(await (await installation().get('setup')).json()).toEqual({
    title: expect.any(String),
    recommended_approach: expect.any(String),
    quick_start: { step_1: expect.any(String), step_2: expect.any(String), step_3: expect.any(String) },
    docker_config_example: {
      mcpServers: { render: { command: 'docker', args: expect.any(Array), env: expect.any(Object) } },
    },
    documentation_links: expect.any(Object),
  })
})

test('GET /api/infra-mcp/tools: 200 with the 21 tools of the specification', async () => {
  expect(await (await installation().get('tools')).json()).toEqual({
    source: expect.any(String),
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
    complete_reference: expect.any(String),
  })
})

test('GET /api/infra-mcp/examples: 200 with prompts of five categories', async () => {
  const prompts = Array(4).fill(expect.any(String))
  expect(await (await installation().get('examples')).json()).toEqual({
    description: expect.any(String),
    examples: {
      service_management: prompts,
      deployment_monitoring: prompts,
      database_management: prompts,
      monitoring_and_logs: prompts,
      troubleshooting: prompts,
    },
  })
})

test.each([
  ['GET /api/infra-mcp/docs', 'docs'],
  ['GET /api/infra-mcp/github', 'github'],
])('%s: 301 to another path', async (_, name) => {
  const response = await installation().get(name)
  expect(response.status).toBe(301)
  expect(response.headers.get('location')).toMatch(/^https:\/\//)
})

test('POST /api/infra-mcp/validate-config: 200 when the key has the right format', async () => {
  const response = await installation().validate({ api_key: 'rnd_0123456789abcdef', endpoint: 'https://mcp.example' })
  expect(response.status).toBe(200)
  expect(await response.json()).toEqual({
    valid: true,
    message: 'Configuration looks valid',
    next_steps: Array(3).fill(expect.any(String)),
  })
})

test.each([
  [{}, ['api_key is required']],
  [{ api_key: '' }, ['api_key is required']],
  [{ api_key: 7 }, ['api_key is required']],
  [{ api_key: null }, ['api_key is required']],
  [{ api_key: 'x'.repeat(40) }, ['api_key must start with rnd_']],
  [{ api_key: 'rnd_short' }, ['api_key appears too short']],
  [{ api_key: 'short' }, ['api_key must start with rnd_', 'api_key appears too short']],
])('POST /api/infra-mcp/validate-config: 400 when the body is %j', async (body, errors) => {
  const response = await installation().validate(body)
  expect(response.status).toBe(400)
  expect(await response.json()).toEqual({ valid: false, errors, help: expect.any(String) })
})

test.each(PATHS)('GET /api/infra-mcp/%s: 401 without a bearer, 403 with a wrong one', async (name) => {
  const { get } = installation()
  expect((await get(name, {})).status).toBe(401)
  expect((await get(name, bearer('wrong'))).status).toBe(403)
})

test('POST /api/infra-mcp/validate-config: 401 without a bearer, 403 with a wrong one', async () => {
  const { validate } = installation()
  expect((await validate({}, {})).status).toBe(401)
  expect((await validate({}, bearer('wrong'))).status).toBe(403)
})
