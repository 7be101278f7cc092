import { expect, test } from 'bun:test'
import { connect } from 'node:net'
import { z } from 'zod'
import { Installations, PairingCode } from '../../../src/features/agents/installations/schemas.ts'
import { type Person, signUp } from '../../harness/client.ts'
import { roundsOf } from '../../harness/rounds.ts'
import { openInstallation } from '../../harness/server.ts'
import { tempFolder } from '../../harness/temp-folder.ts'
import { until } from '../../harness/until.ts'
import { startMachine } from './machines.ts'
import { type NatNetwork, openNatNetwork, whyNoNat } from './nat-network.ts'

/** Number of disconnects; `bun run stress nat` runs for an hour with 20. */
const DISCONNECTS = roundsOf('NAT_DISCONNECTS', 4)
const PERIOD_SECONDS = roundsOf('NAT_PERIOD_SECONDS', 8)
const CALLERS = 4
/** Longer than the heartbeat timeout, so that the tunnel is lost without a packet. */
const CUT_SECONDS = 13
const RESET_SECONDS = 1

const Reply = z.object({ reply: z.string() })
const reason = whyNoNat()
if (reason !== null) console.log(`skipped: a machine behind NAT ${reason}`)

async function findOnline(person: Person) {
  const { installations } = Installations.parse(await (await person.get('/api/installations')).json())
  const online = installations.find(({ tunnel }) => tunnel.state === 'online')
  return online?.agentId ? { ...online, agentId: online.agentId } : undefined
}

type Load = { acknowledged: string[]; refused: string[]; wrong: string[] }

/** Sends messages until `isOver`. A rejected message was never accepted, so it is not sent again. */
async function ask(person: Person, agentId: string, caller: number, isOver: () => boolean, load: Load): Promise<void> {
  for (let count = 0; !isOver(); count++) {
    const message = `message ${caller}-${count} end`
    const response = await person.post('/api/chat', { agentId, message })
    const body: unknown = await response.json()
    if (response.ok && Reply.safeParse(body).data?.reply === `[offline echo] ${message}`)
      load.acknowledged.push(message)
    else if (response.status === 503) {
      load.refused.push(message)
      await Bun.sleep(200)
    } else load.wrong.push(`${message}: ${response.status} ${JSON.stringify(body)}`)
  }
}

/** Interrupts the connections alternately by packet loss and resets. */
async function disturb(network: NatNetwork, port: number): Promise<void> {
  for (let count = 0; count < DISCONNECTS; count++) {
    await Bun.sleep(PERIOD_SECONDS * 1000)
    if (count % 2 === 0) network.reset(port)
    else network.cut()
    await Bun.sleep((count % 2 === 0 ? RESET_SECONDS : CUT_SECONDS) * 1000)
    network.mend()
  }
  await Bun.sleep(PERIOD_SECONDS * 1000)
}

test.skipIf(reason !== null)(
  'a machine behind NAT answers every accepted message once under load and disconnects',
  async () => {
    using network = openNatNetwork()
    await using installation = await openInstallation({ environment: { AI_ECHO: 'true', HOST: '0.0.0.0' } })
    const program = await installation.start()
    const person = await signUp(program.urls.web)
    const port = Number(new URL(program.urls.backend).port)
    using folder = tempFolder()
    const { code } = PairingCode.parse(await (await person.post('/api/installations/pairing-codes', {})).json())
    const platform = `http://${network.wan}:${port}`
    const args = ['home', '--platform', platform, '--code', code, '--dir', folder.file('home'), '--name', 'attic']
    await using home = startMachine([...args, '--port', '18789', '--host', '0.0.0.0'], {}, network.inside)
    await home.next('tunnel', 0)
    const { agentId } = await until('the tunnel', () => findOnline(person))
    // No connection from outside succeeds, although the gateway listens on every address.
    for (const address of [network.router, '192.168.77.2'])
      expect([address, await canReach(address, 18_789)]).toEqual([address, false])

    const load: Load = { acknowledged: [], refused: [], wrong: [] }
    let isOver = false
    const startedAt = performance.now()
    const asking = Array.from({ length: CALLERS }, (_, caller) => ask(person, agentId, caller, () => isOver, load))
    await disturb(network, port)
    isOver = true
    await Promise.all(asking)

    expect(load.wrong).toEqual([])
    const received = await readReceived(folder.file('home'))
    expect(load.acknowledged.filter((message) => received.get(message) !== 1)).toEqual([])
    expect([...received].filter(([, count]) => count > 1)).toEqual([])
    const connections = home.events.filter(({ event }) => event === 'tunnel')
    const resumed = connections.filter(({ isResumed }) => isResumed === true).length
    expect(connections.length).toBeGreaterThan(DISCONNECTS / 2)
    expect(load.acknowledged.length).toBeGreaterThan(CALLERS)
    const seconds = Math.round((performance.now() - startedAt) / 1000)
    console.log(
      `${load.acknowledged.length} messages answered in ${seconds} s, ${load.refused.length} refused while offline; ` +
        `${DISCONNECTS} disconnects, ${connections.length - 1} reconnects, ${resumed} resumed`,
    )
  },
  (DISCONNECTS * (PERIOD_SECONDS + CUT_SECONDS) + 300) * 1000,
)

/** Returns whether the gateway answers within two seconds. A router on the way may accept connections to any address. */
function canReach(host: string, port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = connect({ host, port, timeout: 2000 })
  const end = (isReached: boolean) => {
    socket.destroy()
    resolve(isReached)
  }
  socket.on('connect', () => socket.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n'))
  socket.on('data', (bytes: Buffer) => end(bytes.toString().includes('"live"')))
  for (const failure of ['error', 'timeout', 'close']) socket.on(failure, () => end(false))
  return promise
}

/** Returns how often the agent has stored each message. */
async function readReceived(folder: string): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for (const file of new Bun.Glob('sessions/**').scanSync({ cwd: folder, onlyFiles: true })) {
    const text = await Bun.file(`${folder}/${file}`).text()
    for (const [, message = ''] of text.matchAll(/"role":"user","content":"(message \d+-\d+ end)"/g)) {
      counts.set(message, (counts.get(message) ?? 0) + 1)
    }
  }
  return counts
}
