// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of a fleet file look like that
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { z } from 'zod'
import { createAgent, signUp } from '../../../../tests/harness/client.ts'
import { json } from '../../../../tests/harness/requests.ts'
import { openInstallation } from '../../../../tests/harness/server.ts'

const NEVER_MS = 600_000
const Applied = z.object({
  agents: z.array(
    z.looseObject({ verb: z.string(), name: z.string(), isDone: z.boolean(), error: z.string().nullable() }),
  ),
})
const WEBHOOK = 'https://hooks.example.com/in/s3cret-path'
const MCP_KEY = 's3cret-mcp-key'

const FLEET = `
version: 1
agents:
  - name: Ada
    model: local/echo
    settings:
      template: helper
      ownerIds: [ada, bo]
    secrets:
      webhookUrl: \${env:ADA_WEBHOOK}
    labels: [shop, eu]
    tools:
      profile: coding
      switches: { http_request: false }
      limits: { modelTurns: 12 }
    schedules:
      - name: Morning
        cronSchedule: 0 7 * * 1-5
        timezone: Europe/Berlin
        prompt: |
          Sum up the news.
          - in ten lines
    mcpServers:
      - name: weather
        url: https://mcp.example.com/mcp
        bearer: \${file:mcp.key}
    channels:
      webhook: { url: "\${env:ADA_CHANNEL}" }
  - name: Bo
    model: local/echo
`

const MORE = `
version: 1
agents:
  - name: Ada
    caps: { tokensPerDay: 50000, costUsdPerDay: 2.5 }
    instructions: |
      Speak Latin.
      Never shout.
  - name: Bo
    settings: { neverSleeps: true }
heartbeat: { frequency: 30m, enabled: true, agent: bo }
`

type Fleet = Awaited<ReturnType<typeof openFleet>>

/** A server with an account that may have several agents, and files beside it. */
async function openFleet() {
  const installation = await openInstallation({ environment: { AI_ECHO: 'true' } })
  const { urls } = await installation.start()
  const person = await signUp(urls.web)
  await installation.run(['user', 'set-plan', person.email, 'network'])
  const write = async (name: string, text: string) => {
    const file = join(installation.dataDir, '..', name)
    await Bun.write(file, text)
    return file
  }
  const secrets = { ADA_WEBHOOK: WEBHOOK, ADA_CHANNEL: 'https://program.example.com/answers?key=s3cret' }
  const apply = (file: string, ...options: string[]) =>
    installation.run(['apply', file, ...options], { environment: secrets })
  return { installation, person, write, apply, [Symbol.asyncDispose]: () => installation[Symbol.asyncDispose]() }
}

test(
  'stead apply FILE: prints and applies differences, and changes nothing the second time; export returns the same file',
  async () => {
    await using fleet = await openFleet()
    const { installation, person, write, apply } = fleet
    const untouched = await createAgent(person, { name: 'Cy', model: 'local/echo' })
    const file = await write('fleet.yaml', FLEET)
    await write('mcp.key', `${MCP_KEY}\n`)

    const dry = await apply(file, '--dry-run')
    expect(dry).toMatchObject({ exitCode: 0, stderr: '' })
    expect(dry.stdout).toContain('+ Ada\n')
    expect(dry.stdout).toContain('    + secrets.webhookUrl: ${env:ADA_WEBHOOK}\n')
    expect(dry.stdout).toContain('    + schedule Morning: 0 7 * * 1-5 Europe/Berlin\n')
    expect(dry.stdout).toContain('    + MCP server weather: header authorization: ${file:mcp.key}\n')
    expect(dry.stdout.endsWith('2 to create, 0 to change, 0 to delete\n')).toBe(true)
    // Without a terminal nothing changes unless --yes is given.
    expect(await apply(file)).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--yes') })
    expect((await installation.run(['agents', 'list'])).stdout).not.toContain('Ada')

    const applied = await apply(file, '--yes')
    expect(applied).toMatchObject({ exitCode: 0, stderr: '' })
    expect(applied.stdout).toContain('Ada is made\nThe secret of its webhook channel, told this once: whsec_')
    expect(dry.stdout + applied.stdout).not.toContain('s3cret')
    // A secret that is already set is not required.
    expect(await installation.run(['apply', file, '--yes'])).toEqual({
      exitCode: 0,
      stdout: 'Nothing to do: the fleet is as the file says.\n',
      stderr: '',
    })

    const exported = await installation.run(['export'])
    expect(exported).toMatchObject({ exitCode: 0, stderr: '' })
    expect(exported.stdout).not.toContain('s3cret')
    expect(exported.stdout).toContain('webhookUrl: ${env:ADA_WEBHOOK_URL}')
    const whole = await write('whole.yaml', exported.stdout)
    expect((await installation.run(['apply', whole, '--yes', '--prune'])).stdout).toContain('Nothing to do')
    const asJson = await write('whole.json', (await installation.run(['export', '--json'])).stdout)
    expect((await installation.run(['apply', asJson, '--json'])).stdout).toBe('{"agents":[]}\n')
    expect((await installation.run(['agents', 'list', '--json'])).stdout).toContain(untouched)
    await expectMoves(fleet)
  },
  NEVER_MS,
)

/** Changes the installation, runs `export | apply -` on an empty one, and expects identical exports. */
async function expectMoves(fleet: Fleet): Promise<void> {
  const { person, write, apply, installation } = fleet
  expect((await apply(await write('more.yaml', MORE), '--dry-run')).stdout.split('\n')).toEqual([
    expect.stringMatching(/^~ Ada \(.+\)$/),
    '    + caps.tokensPerDay: 50000',
    '    + caps.costUsdPerDay: 2.5',
    '    + instructions: "Speak Latin.\\nNever shout.\\n"',
    expect.stringMatching(/^~ Bo \(.+\)$/),
    '    + settings.neverSleeps: true',
    '~ heartbeat of the agents',
    '    ~ frequency: 3h -> 30m',
    '    ~ enabled: false -> true',
    '    + agent: bo',
    '0 to create, 2 to change, 0 to delete',
    '',
  ])
  const applied = await apply(await write('more.yaml', MORE), '--yes')
  expect(applied).toMatchObject({ exitCode: 0, stderr: '' })
  expect(applied.stdout.endsWith('The heartbeat is changed\n')).toBe(true)
  expect((await apply(await write('more.yaml', MORE), '--yes')).stdout).toContain('Nothing to do')
  const exported = await installation.run(['export'])
  expect(exported).toMatchObject({ exitCode: 0, stderr: '' })

  await using other = await openFleet()
  const secrets = { ADA_WEBHOOK_URL: WEBHOOK, ADA_MCP_WEATHER_AUTHORIZATION: `Bearer ${MCP_KEY}` }
  const environment = { ...secrets, ADA_WEBHOOK_CHANNEL_URL: 'https://program.example.com/answers?key=s3cret' }
  const moved = await other.installation.run(['apply', '-', '--yes'], { stdin: exported.stdout, environment })
  expect(moved).toMatchObject({ exitCode: 0, stderr: '' })
  expect(await other.installation.run(['export'])).toEqual(exported)
  const again = await other.installation.run(['apply', '-', '--json', '--prune'], { stdin: exported.stdout })
  expect(again).toEqual({ exitCode: 0, stdout: '{"agents":[]}\n', stderr: '' })

  // The instructions of a stopped agent cannot be read.
  const { agents } = z
    .object({ agents: z.array(z.object({ id: z.string(), name: z.string() })) })
    .parse(JSON.parse((await installation.run(['agents', 'list', '--json'])).stdout))
  const ada = agents.find(({ name }) => name === 'Ada')?.id ?? ''
  expect((await person.post(`/api/agents/${ada}/stop`, {})).status).toBe(200)
  const without = await installation.run(['export'])
  expect(without.stderr).toStartWith(`stead: not in the file: the instructions of Ada (${ada}): `)
  expect([without.exitCode, without.stdout.includes('Latin')]).toEqual([0, false])
}

test(
  'stead apply FILE: changes only differences, removes missing list entries, and deletes agents only with --prune',
  async () => {
    await using fleet = await openFleet()
    const { installation, person, write, apply } = fleet
    const ada = await createAgent(person, { name: 'Ada', model: 'local/echo' })
    const server = { name: 'old', url: 'https://old.example.com/mcp?key=s3cret', bearer: 'one' }
    await person.post(`/api/agents/${ada}/mcp-servers`, server)
    const task = { name: 'Evening', agentId: ada, cronSchedule: '0 19 * * *', prompt: 'Good night.' }
    await person.post('/api/scheduled-tasks', task)
    const labels = json('PUT', { labels: ['one'] }, person.cookie)
    await fetch(`${person.web}/api/agents/${ada}/labels`, labels)
    await createAgent(person, { name: 'Left over', model: 'local/echo' })

    const exported = (await installation.run(['export'])).stdout
    expect(exported).toContain('url: ${env:ADA_MCP_OLD_URL}')
    expect(exported).not.toContain('s3cret')
    const change = await write(
      'change.yaml',
      `version: 1
agents:
  - name: ada
    labels: []
    schedules:
      - { name: Evening, cronSchedule: 0 20 * * *, prompt: Good night. }
      - { name: Noon, cronSchedule: 0 12 * * *, prompt: Lunch., enabled: false }
    mcpServers: []
    channels: { webhook: { url: "https://program.example.com/a" } }
`,
    )
    const { stdout } = await apply(change, '--yes', '--prune', '--dry-run')
    expect(stdout.split('\n')).toEqual([
      `~ Ada (${ada})`,
      '    ~ name: Ada -> ada',
      '    - labels: ["one"]',
      '    - MCP server old',
      '    ~ schedule Evening: cronSchedule: 0 19 * * * -> 0 20 * * *',
      '    + schedule Noon: 0 12 * * * UTC',
      '    + channel webhook: https://program.example.com',
      expect.stringMatching(/^- Left over \(.+\) with all it keeps$/),
      '0 to create, 1 to change, 1 to delete',
      '',
    ])
    const kept = Applied.parse(JSON.parse((await apply(change, '--yes', '--json')).stdout))
    expect(kept.agents).toMatchObject([{ verb: 'change', name: 'Ada', isDone: true }])
    expect((await installation.run(['agents', 'list'])).stdout).toContain('Left over')
    const pruned = await apply(change, '--yes', '--prune')
    expect(pruned.stdout.endsWith('Left over is deleted\n')).toBe(true)
    expect((await installation.run(['agents', 'list'])).stdout).not.toContain('Left over')
    expect((await apply(change, '--yes', '--prune')).stdout).toContain('Nothing to do')
  },
  NEVER_MS,
)

test(
  'stead apply FILE: changes nothing when a secret is missing, and applies the other changes when one is rejected',
  async () => {
    await using fleet = await openFleet()
    const { installation, write, apply } = fleet
    const withSecret = 'version: 1\nagents: [{name: Ada, model: local/echo, secrets: {webhookUrl: "${env:NOT_THERE}"}}]'
    expect(await apply(await write('secret.yaml', withSecret), '--yes')).toEqual({
      exitCode: 2,
      stdout: '',
      stderr: 'stead: Ada: secrets.webhookUrl: NOT_THERE is not set\n',
    })
    expect((await installation.run(['agents', 'list'])).stdout).toBe('No agents yet.\n')

    const withMail = (mail: string, more = '') =>
      `version: 1\nagents: [{name: Ada, model: local/echo, channels: {mail: ${mail}}}, {name: Bo, model: local/echo}]${more}`
    const refused = await apply(
      await write('mail.yaml', withMail('true', '\nheartbeat: {agent: Eve}')),
      '--yes',
      '--json',
    )
    expect(refused.exitCode).toBe(1)
    expect(Applied.parse(JSON.parse(refused.stdout)).agents).toMatchObject([
      {
        verb: 'create',
        name: 'Ada',
        isDone: false,
        error: expect.stringContaining('Mail of agents is not configured'),
      },
      { verb: 'create', name: 'Bo', isDone: true, error: null },
    ])
    expect(JSON.parse(refused.stdout)).toMatchObject({
      heartbeat: { isDone: false, error: 'heartbeat: there is no agent Eve' },
    })
    const eve = await write('eve.yaml', withMail('false', '\nheartbeat: {agent: Eve}'))
    expect((await apply(eve, '--yes')).exitCode).toBe(1)
    expect((await apply(await write('mail.yaml', withMail('false')), '--yes')).stdout).toContain('Nothing to do')
  },
  NEVER_MS,
)

test.each([
  ['version: 1\nagents:\n  - name: Ada\n    lables: [a]', ':4: lables is no key of agents.0: is labels meant?'],
  [
    'version: 1\nagents:\n  - name: Ada\n    secrets:\n      telegramTokn: "${env:A}"',
    ':5: telegramTokn is no key of agents.0.secrets: is telegramToken meant?',
  ],
  [
    'version: 1\nagents:\n  - name: Ada\n    secrets: { telegramToken: 12:34 }',
    ':4: agents.0.secrets.telegramToken: must be a reference, ${env:NAME} or ${file:PATH}: a secret never stands in this file',
  ],
  [
    'version: 1\nagents:\n  - name: Ada\n    schedules: [{ name: a, cron: b }]',
    ':4: agents.0.schedules.0.cronSchedule: name, cronSchedule, prompt, and agentId are required',
  ],
  [
    'version: 1\nagents:\n  - name: Ada\n    mcpServers: [{ name: both, url: "https://a.example.com", command: npx }]',
    ':4: agents.0.mcpServers.0: must have a url (with headers or bearer) or a command (with args and environment), not both',
  ],
  ['{"version": 2, "agents": []}', ':1: version: version must be 1'],
  ['version: 1\nagents:\n  - name: Ada\n  - name: ADA', ':4: the agent ADA stands there twice'],
  ['version: 1\nagents:\n  - name: [', expect.stringContaining(':3: ')],
])('stead apply FILE: exits with 2 and one line that names the place when the file has %j', async (text, problem) => {
  await using installation = await openInstallation()
  const file = join(installation.dataDir, '..', 'fleet.yaml')
  await Bun.write(file, text)
  const { exitCode, stdout, stderr } = await installation.run(['apply', file])
  expect([exitCode, stdout]).toEqual([2, ''])
  expect(stderr.replace(`stead: ${file}`, '').trim()).toEqual(problem)
})

test('stead export: prints API keys without secrets, and apply names those that are missing', async () => {
  const { installation, write } = await openFleet()
  await using _platform = installation
  const created = await installation.run(['keys', 'create', 'laptop', '--scope', 'read', '--json'])
  const { key } = JSON.parse(created.stdout)
  const { stdout, stderr, exitCode } = await installation.run(['export', '--json'])
  expect([exitCode, stderr]).toEqual([0, ''])
  expect(JSON.parse(stdout).keys).toEqual([{ name: 'laptop', scopes: ['read'] }])
  expect(stdout).not.toContain(key)
  const applied = await installation.run(['apply', await write('keys.json', stdout), '--dry-run'])
  expect(applied).toMatchObject({ exitCode: 0, stderr: '' })
  const other = await write('other.yaml', 'version: 1\nagents: []\nkeys: [{ name: ci }]\n')
  expect((await installation.run(['apply', other, '--dry-run'])).stderr).toBe(
    'stead: apply makes no API keys; the file names ci (stead keys create NAME)\n',
  )
}, 300_000)
