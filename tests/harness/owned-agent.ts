import { eq } from 'drizzle-orm'
import type { RuntimeName } from '../../src/adapters/runtimes/contract/runtime.ts'
import type { AgentServerSettings } from '../../src/agent/server.ts'
import type { Sealer } from '../../src/core/secrets.ts'
import { write } from '../../src/db/write.ts'
import { openTokens } from '../../src/features/agents/registry/agents.ts'
import { type AgentRow, agents } from '../../src/features/agents/registry/tables.ts'
import { ApprovalList } from '../../src/features/conversations/approvals/schemas.ts'
import { agentOwner } from './agent-owner.ts'
import { startPlatformDouble } from './doubles/platform.ts'
import type { TestOptions } from './platform.ts'
import { read } from './requests.ts'
import { startTestAgent } from './test-agent.ts'
import { until } from './until.ts'

/** Selects the gateway token of the agent, for tests in which the platform calls the agent. */
type TokenOf = (agent: AgentRow, sealer: Sealer) => string

/** Starts an agent with a real platform; only the model is a double. Tools and approvals are real. */
export async function startOwnedAgent(
  options: TestOptions = {},
  settings: Pick<Partial<AgentServerSettings>, 'maxTurnMs' | 'approvalWaitMs' | 'channels' | 'isConfined'> & {
    tokenOf?: TokenOf
    /** The runtime in the agent's row. */
    runtime?: RuntimeName
    /** Registers the agent's address with the platform, as if the platform had started it. */
    isReached?: boolean
  } = {},
) {
  const owner = await agentOwner(options)
  const { app, asOwner, agent } = owner
  const { tokenOf, runtime, isReached, ...others } = settings
  if (runtime) await write(owner.platform.db, (tx) => tx.update(agents).set({ runtime }).run())
  let isDown = false
  const double = startPlatformDouble((request) => {
    if (isDown) return Response.json({ error: 'Starting' }, { status: 503 })
    return app.fetch(request, { api: 'backend', address: '203.0.113.7' })
  })
  const { accessToken: platformToken, gatewayToken } = openTokens(owner.platform.sealer, agent.row)
  const own = { gatewayToken: tokenOf ? tokenOf(agent.row, owner.platform.sealer) : gatewayToken }
  const running = await startTestAgent({ platformToken, agentId: agent.id, ...own, ...others }, double)
  if (isReached) {
    const { port } = new URL(running.url)
    await write(owner.platform.db, (tx) =>
      tx
        .update(agents)
        .set({ port: Number(port) })
        .where(eq(agents.id, agent.id))
        .run(),
    )
  }
  const list = async (query = '') => (await read(ApprovalList, asOwner(`/api/approvals${query}`))).approvals
  return {
    ...owner,
    running,
    model: double,
    list,
    /** Makes the platform answer with status 503. */
    setDown: (down: boolean) => {
      isDown = down
    },
    /** Waits for the next pending approval. */
    question: () => until('a question to the owner', async () => (await list('?status=waiting'))[0]),
    decide: (id: string, verb: 'approve' | 'deny') => asOwner(`/api/approvals/${id}/${verb}`, 'POST'),
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  }
}
