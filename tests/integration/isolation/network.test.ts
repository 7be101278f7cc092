import { expect, test } from 'bun:test'
import { z } from 'zod'
import { findConfinement } from '../../../src/adapters/runtimes/process/sandbox/confinement.ts'
import { AgentEgress } from '../../../src/features/agents/egress/schemas.ts'
import { SentMessage } from '../../../src/features/conversations/chat/schemas.ts'
import { createAgent, signIn, signUp } from '../../harness/client.ts'
import { read } from '../../harness/requests.ts'
import { openInstallation, STEAD } from '../../harness/server.ts'
import { tempFolder } from '../../harness/temp-folder.ts'

const PATIENCE_MS = 600_000
const Answer = z.object({ agent: z.object({ isolation: z.object({ egressEnforced: z.boolean() }) }) })

const trial = tempFolder()
const { confinement } = await findConfinement({ dir: trial.path, command: STEAD, path: process.env.PATH ?? '' })
trial[Symbol.dispose]()
const isSeparate = Boolean(confinement?.sockets)
if (!isSeparate) console.warn('Agents have no network of their own here: it is not tested.')

test.skipIf(!isSeparate)(
  'a process agent without a network answers, also after the server was killed and its agent crashed',
  async () => {
    await using installation = await openInstallation({ environment: { AI_ECHO: 'true' } })
    const first = await installation.start()
    const ada = await signUp(first.urls.web)
    const agentId = await createAgent(ada, { model: 'local/echo' })
    const isEnforced = async (person = ada) =>
      (await read(Answer, person.get(`/api/agents/${agentId}`))).agent.isolation.egressEnforced
    const ask = async (person: typeof ada, message: string) =>
      (await read(SentMessage, person.post('/api/chat', { agentId, message }))).reply
    expect(await isEnforced()).toBe(true)
    expect((await read(AgentEgress, ada.get(`/api/agents/${agentId}/egress`))).gap).toBeNull()
    expect(await ask(ada, 'Good morning')).toContain('Good morning')
    const pid = (await installation.agentPids()).get(agentId)

    await first.kill()
    const second = await installation.start()
    const again = await signIn(second.urls.web)
    expect(await ask(again, 'Good evening')).toContain('Good evening')
    expect((await installation.agentPids()).get(agentId)).toBe(pid ?? 0)

    process.kill(pid ?? 0, 'SIGKILL')
    expect(await ask(again, 'Good night')).toContain('Good night')
    expect(await isEnforced(again)).toBe(true)
  },
  PATIENCE_MS,
)
