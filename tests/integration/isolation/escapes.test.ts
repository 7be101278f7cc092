import { expect, test } from 'bun:test'
import { mkdir, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { agentFolder } from '../../../src/adapters/runtimes/process/files.ts'
import { createProcessRuntime } from '../../../src/adapters/runtimes/process/process.ts'
import { findConfinement } from '../../../src/adapters/runtimes/process/sandbox/confinement.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { createLog } from '../../../src/core/log.ts'
import { openNetworkTargets } from '../../harness/engines/network-targets.ts'
import { answersHealthz, waitFor } from '../../harness/engines/runtime-contract.ts'
import { findFreePorts } from '../../harness/ports.ts'
import { tempFolder } from '../../harness/temp-folder.ts'

const PATIENCE_MS = 300_000
const PROGRAM = join(import.meta.dir, '..', '..', 'harness', 'programs', 'escaping-agent.ts')
const AGENT: [string, string, string] = [process.execPath, '--no-env-file', PROGRAM]
const SEARCH_PATH = '/usr/bin:/bin:/usr/sbin:/sbin'
const Attempt = z.object({ name: z.string(), escaped: z.boolean(), detail: z.string() })

const trial = tempFolder()
const { reason } = await findConfinement({ dir: trial.path, command: AGENT, path: SEARCH_PATH })
trial[Symbol.dispose]()
if (reason !== null) console.warn(`Escapes are not tried: ${reason}.`)

/** Creates what an agent must not see: the platform's files and those of another agent. */
async function createTargets(dataDir: string) {
  const agents = join(dataDir, 'agents')
  const other = agentFolder(agents, 'other').dir
  await mkdir(join(other, 'state'), { recursive: true })
  await mkdir(join(other, 'secrets'), { recursive: true })
  const secrets = [
    'encryption.key',
    'stead.db',
    'stead.env',
    'agents/other/secrets/GATEWAY_TOKEN',
    'agents/other/agent.log',
  ]
  for (const path of secrets) await writeFile(join(dataDir, path), 'secret')
  return { agents, other }
}

test.skipIf(reason !== null)(
  'an isolated process agent fails in every escape attempt',
  async () => {
    using folder = tempFolder()
    await using network = await openNetworkTargets(folder.path)
    const { agents, other } = await createTargets(folder.path)
    const stranger = Bun.spawn(['sleep', '600'])
    const runtime = await createProcessRuntime({
      dir: agents,
      command: AGENT,
      path: SEARCH_PATH,
      lang: 'C.UTF-8',
      clock: systemClock,
      log: createLog('silent'),
      hidden: [folder.path],
    })
    try {
      const [port = 0] = await findFreePorts(1)
      const limits = { memoryBytes: 512 * 1024 * 1024, cpus: 1, processes: 64 }
      await runtime.deploy({
        id: 'captive',
        image: null,
        port,
        environment: network.environment,
        secrets: { GATEWAY_TOKEN: 'gw' },
        limits,
      })
      await waitFor(() => answersHealthz(port), PATIENCE_MS)
      const pids = { platformPid: process.pid, strangerPid: stranger.pid }
      const targets = { dataDir: folder.path, otherAgent: other, home: homedir(), ...pids, ...network.targets }
      await writeFile(join(agentFolder(agents, 'captive').state, 'targets.json'), JSON.stringify(targets))
      const answer = await fetch(`http://127.0.0.1:${port}/attempts`)
      const attempts = (await answer.text()).split('\n').map((line) => Attempt.parse(JSON.parse(line)))
      expect(attempts.length).toBeGreaterThan(125)
      expect(attempts.filter(({ escaped }) => escaped)).toEqual([])
      expect((await runtime.inspect('captive'))?.isolation).toEqual({
        by: 'bubblewrap',
        reason: null,
        egressEnforced: true,
      })
      // Without permitted actions, an agent would pass all of the above.
      expect(await answersHealthz(port)).toBe(true)
      expect(await (await fetch(`http://127.0.0.1:${port}/reach`)).text()).toMatch(/^platform, HTTP.*allowed$/s)
      // The platform must not follow a link of the agent to a socket of the host.
      expect(await (await fetch(`http://127.0.0.1:${port}/replace-socket`)).text()).toBe('replaced')
      const answered = await fetch(`http://127.0.0.1:${port}/`, { keepalive: false }).catch(() => null)
      expect(answered).toBeNull()
    } finally {
      stranger.kill()
      await runtime.close({ stopAgents: true })
    }
  },
  PATIENCE_MS,
)
