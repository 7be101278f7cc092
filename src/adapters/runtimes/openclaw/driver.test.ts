import { expect, test } from 'bun:test'
import type { AgentImage } from '../contract/agent-image.ts'
import type { AgentSpec } from '../contract/runtime.ts'
import { openClawDriver } from './driver.ts'

const GIGABYTE = 1024 ** 3
const image: AgentImage = { reference: 'oc:1', id: 'sha256:1', kind: 'openclaw', version: '2026.9.4' }
const spec: AgentSpec = {
  id: 'ada',
  image: 'oc:1',
  port: 19_000,
  environment: { AGENT_ID: 'ada', AGENT_MODEL: 'openai/gpt-4o-mini', PLATFORM_URL: 'http://172.18.0.1:3001' },
  secrets: { GATEWAY_TOKEN: 'gw-secret', PLATFORM_TOKEN: 'agt-secret' },
  limits: { memoryBytes: 2 * GIGABYTE, cpus: 1, processes: 256 },
}

/** Returns a reference to a variable in the configuration. */
const named = (variable: string) => `\${${variable}}`

function settingsOf(change: Partial<AgentSpec> = {}) {
  return JSON.parse(openClawDriver.toInputs({ ...spec, ...change }, image).environment.STEAD_SETTINGS ?? '')
}

test('toInputs puts secrets only into files', () => {
  const secrets = { ...spec.secrets, TELEGRAM_TOKEN: 'tg-secret', PROVIDER_API_KEY: 'key-secret' }
  const inputs = openClawDriver.toInputs({ ...spec, secrets }, image)
  expect(inputs.files).toEqual(secrets)
  expect(JSON.stringify(inputs.environment)).not.toContain('-secret')
  expect(inputs.environment).toMatchObject({ TELEGRAM_TOKEN_FILE: '/run/secrets/TELEGRAM_TOKEN' })
  for (const name of ['GATEWAY_TOKEN', 'PLATFORM_TOKEN', 'TELEGRAM_TOKEN', 'DISCORD_TOKEN']) {
    expect(openClawDriver.entrypoint?.join()).toContain(`"\${${name}_FILE:-}"`)
  }
})

test("toOpenClawConfig uses the platform's models with the agent's token", () => {
  expect(settingsOf()).toMatchObject({
    gateway: { port: 18_789, bind: 'lan', auth: { mode: 'token', token: named('OPENCLAW_GATEWAY_TOKEN') } },
    models: {
      providers: {
        platform: {
          baseUrl: 'http://172.18.0.1:3001/v1',
          apiKey: named('STEAD_PLATFORM_TOKEN'),
          headers: { 'x-agent-id': 'ada' },
          models: [{ id: 'openai/gpt-4o-mini' }],
        },
      },
    },
    agents: { defaults: { model: { primary: 'platform/openai/gpt-4o-mini' }, heartbeat: { every: '0m' } } },
  })
})

test('toOpenClawConfig enables a channel when it has a token, for owners or paired people', () => {
  expect(settingsOf().channels).toEqual({ telegram: null, discord: null, whatsapp: null })
  const secrets = { ...spec.secrets, TELEGRAM_TOKEN: 't', DISCORD_TOKEN: 'd', WHATSAPP_TOKEN: 'w' }
  const open = { groupPolicy: 'allowlist', dmPolicy: 'pairing', allowFrom: null }
  expect(settingsOf({ secrets }).channels).toMatchObject({ telegram: open, discord: open, whatsapp: open })
  const environment = { ...spec.environment, OWNER_IDS: '1, 2', TELEGRAM_USER_ID: '3' }
  expect(settingsOf({ secrets, environment }).channels).toMatchObject({
    telegram: { dmPolicy: 'allowlist', allowFrom: ['1', '2', '3'], botToken: named('STEAD_TELEGRAM_TOKEN') },
    discord: { dmPolicy: 'allowlist', allowFrom: ['1', '2'], token: named('STEAD_DISCORD_TOKEN') },
  })
})

test('toOpenClawConfig selects the tools of the plan', () => {
  const profileOf = (plan: string) =>
    settingsOf({ environment: { ...spec.environment, AGENT_PLAN: plan } }).tools.profile
  expect(['solo', 'collective', 'network'].map(profileOf)).toEqual(['messaging', 'coding', 'coding'])
})

test.each([
  ['2026.9.4', 2, false],
  ['2026.9.6', 2, true],
  ['2026.10.0', 2, true],
  ['2027.1.1', 2, true],
  ['2025.12.30', 2, false],
  ['2026.9.6', 4, false],
  [null, 2, true],
])('toInputs, when version %p runs with %d GB, reduces memory: %p', (version, gigabytes, isSlim) => {
  const limits = { ...spec.limits, memoryBytes: gigabytes * GIGABYTE }
  const { environment } = openClawDriver.toInputs({ ...spec, limits }, { ...image, version })
  expect(environment.OPENCLAW_NODE_FLAGS?.includes('--max-old-space-size=1024')).toBe(isSlim)
})
