// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of a fleet file look like that
import { expect, test } from 'bun:test'
import { z } from 'zod'
import { agentOwner } from '../../../../tests/harness/agent-owner.ts'
import { createEmptyEngine } from '../../../../tests/harness/engines/empty-engine.ts'
import { AppError } from '../../../core/errors.ts'
import { write } from '../../../db/write.ts'
import { agents } from '../../../features/agents/registry/tables.ts'
import { agentMcpServers } from '../../../features/conversations/mcp-servers/tables.ts'
import type { ServerClient } from '../client.ts'
import { carryOut } from './command.ts'
import { exportFleet } from './export-fleet.ts'
import { FleetFile } from './fleet-file.ts'
import { planFleet } from './plan.ts'
import { showPlan } from './show-plan.ts'

const KEY = 'sk-proj-0123456789abcdef'

/** An agent whose row says that it runs in a container, where commands are confined, and its owner at the command line. */
async function openContainerAgent() {
  const owner = await agentOwner({ runtime: createEmptyEngine() })
  await write(owner.platform.db, (tx) => tx.update(agents).set({ runtime: 'docker' }).run())
  const server: ServerClient = {
    async ask(schema, method, path, body) {
      const response = await owner.asOwner(path, method, body)
      const answer: unknown = await response.json()
      if (response.ok) return schema.parse(answer)
      throw new AppError('invalid', z.object({ error: z.string() }).parse(answer).error)
    },
    stream: () => Promise.reject(new Error('Nothing streams here')),
  }
  const variables: Record<string, string> = { FILES_KEY: KEY }
  const lookUp = (text: string) => text.replace(/\$\{env:(\w+)\}/g, (_, name: string) => variables[name] ?? '')
  const plan = (servers: unknown, sendsSecrets = false) => {
    const fleet = { version: 1, agents: [{ id: owner.agent.id, name: owner.agent.row.name, mcpServers: servers }] }
    return planFleet(server, FleetFile.parse(fleet).agents, { lookUp, sendsSecrets, prunes: false })
  }
  return {
    owner,
    server,
    plan,
    async apply(servers: unknown, sendsSecrets = false) {
      const plans = await plan(servers, sendsSecrets)
      for (const one of plans) expect(await carryOut(server, one)).toMatchObject({ error: null })
      return showPlan(plans, null).split('\n').slice(1, -1)
    },
    async servers() {
      const { document } = await exportFleet(server)
      return document.agents[0]?.mcpServers
    },
    /** A sealed value is unchanged until it is replaced. */
    sealed: () => owner.platform.db.select().from(agentMcpServers).get()?.sealedHeaders,
  }
}

const FILES = {
  name: 'files',
  command: 'npx',
  args: ['-y', '@example/files server', '--key', '${env:FILES_KEY}'],
  environment: { FILES_TOKEN: 'Token ${env:FILES_KEY}' },
}

test('stead apply and export: include the arguments and environment of an MCP server command, secrets by reference', async () => {
  const it = await openContainerAgent()
  expect(await it.apply([FILES])).toEqual([
    '    + MCP server files: npx -y "@example/files server" --key ${env:FILES_KEY}',
    '    + MCP server files: variable FILES_TOKEN: Token ${env:FILES_KEY}',
  ])
  const [row] = it.owner.platform.db.select().from(agentMcpServers).all()
  expect([row?.command, row?.args]).toEqual(['npx', ['-y', '@example/files server', '--key', KEY]])
  expect(await it.plan([FILES])).toEqual([])

  const written = await it.servers()
  expect(written).toMatchObject([{ name: 'files', command: 'npx' }])
  expect(JSON.stringify(written)).not.toContain(KEY)
  expect(written?.[0]?.args).toEqual([
    '-y',
    '@example/files server',
    '--key',
    expect.stringMatching(/^\$\{env:.+_ARGUMENT_4\}$/),
  ])
  expect(written?.[0]?.environment).toEqual({ FILES_TOKEN: expect.stringMatching(/^\$\{env:.+_FILES_TOKEN\}$/) })
  // The export equals the applied file.
  expect(await it.plan(written)).toEqual([])
})

test('stead apply: sends the environment again when a command changes, replaces a server when its kind does, and removes missing ones', async () => {
  const it = await openContainerAgent()
  const plain = { ...FILES, args: ['-y', 'files'], environment: { FILES_TOKEN: '${env:FILES_KEY}' } }
  await it.apply([plain])
  const before = it.sealed()
  expect(await it.apply([{ ...plain, args: ['-y', 'files@2'] }])).toEqual([
    '    ~ MCP server files: command: npx -y files -> npx -y files@2',
    '    ~ MCP server files: variable FILES_TOKEN: (set) -> ${env:FILES_KEY}',
  ])
  expect(it.sealed()).not.toBe(before ?? null)
  expect(await it.apply([{ name: 'files', url: 'https://mcp.example.com/mcp' }])).toEqual([
    '    - MCP server files',
    '    + MCP server files: https://mcp.example.com/mcp',
  ])
  expect(await it.servers()).toEqual([{ name: 'files', url: 'https://mcp.example.com/mcp' }])
  expect(await it.apply([])).toEqual(['    - MCP server files'])
  expect(await it.servers()).toEqual([])
})
