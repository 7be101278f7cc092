import { describe, expect, test } from 'bun:test'
import { ProvisionResponse, WebAgentDetail } from '../../src/features/agents/registry/schemas.ts'
import { createAgent, type Person, signUp } from '../harness/client.ts'
import { importAgent } from '../harness/engines/engine.ts'
import { canStartSwarm, type SwarmNode, startMachine, startSwarm } from '../harness/engines/swarm.ts'
import { read } from '../harness/requests.ts'
import { openInstallation, startServer } from '../harness/server.ts'
import { until } from '../harness/until.ts'

const PATIENCE_MS = 600_000
const UNREACHABLE =
  'Agents cannot run: the swarm knows this machine as 127.0.0.1, at which its agents cannot reach the platform ' +
  '(docker swarm init --advertise-addr with an address of its network)'

describe.skipIf(!canStartSwarm())('a swarm', () => {
  test(
    'that is created anew is detected without a restart, and its agents run in it again',
    async () => {
      await using swarm = await startSwarm(1)
      const node = swarm.manager
      const image = await importAgent(node.docker)
      await using server = await startServer({
        AGENT_RUNTIME: 'swarm',
        DOCKER_HOST: node.dockerHost,
        AGENT_IMAGE: image,
        // The agents' network is on another machine, which connects to any of this one's addresses.
        HOST: '0.0.0.0',
        WATCHDOG_DEGRADED_CHECK_INTERVAL: '0.5',
        WATCHDOG_KILL_WAIT: '0.1',
      })
      const person = await signUp(server.urls.web)
      const id = await createAgent(person)
      expect(await statusOf(person, id)).toBe('running')
      const before = (await node.docker.swarmInspect()).ID

      await node.docker.swarmLeave({ force: true })
      await until(
        'the agent cannot be asked about',
        async () => (await statusOf(person, id)) === 'unknown',
        PATIENCE_MS,
      )
      await initSwarm(node, node.address)
      expect((await node.docker.swarmInspect()).ID).not.toBe(before)
      await until('its owner sees that it is down', async () => (await statusOf(person, id)) === 'error', PATIENCE_MS)
      await until('it runs again', async () => (await statusOf(person, id)) === 'running', PATIENCE_MS)
      const services = await node.docker.listServices()
      expect(services.map((service) => service.Spec?.Labels?.['stead.agent'])).toEqual([id])
      const anew = await createAgent(person)
      expect((await person.delete(`/api/agents/${anew}`)).status).toBe(200)
      expect((await person.delete(`/api/agents/${id}`)).status).toBe(200)
    },
    PATIENCE_MS,
  )

  test(
    'on a loopback address gets no agents, and the reason is reported',
    async () => {
      await using machine = await startMachine()
      await initSwarm(machine, '127.0.0.1')
      const image = await importAgent(machine.docker)
      const settings = { AGENT_RUNTIME: 'swarm', DOCKER_HOST: machine.dockerHost, AGENT_IMAGE: image }
      await using server = await startServer(settings)
      expect(server.logLines.join('\n')).toContain('the swarm knows this machine as 127.0.0.1')
      const person = await signUp(server.urls.web)
      const response = await person.post('/api/agents/provision', { name: 'Ada' })
      const answer = await read(ProvisionResponse, response)
      expect(answer).toMatchObject({ error: UNREACHABLE, agent: { status: 'error', lastError: UNREACHABLE } })
      const started = await person.post(`/api/agents/${answer.agent.id}/start`, {})
      expect({ status: started.status, body: await started.json() }).toEqual({
        status: 500,
        body: { error: UNREACHABLE },
      })
      expect(await machine.docker.listServices()).toEqual([])

      await using installation = await openInstallation({ environment: settings })
      const doctor = await installation.run(['doctor'])
      expect(doctor.stdout).toContain('the swarm knows this machine as 127.0.0.1')
    },
    PATIENCE_MS,
  )
})

async function initSwarm({ docker }: Pick<SwarmNode, 'docker'>, address: string): Promise<void> {
  await docker.swarmInit({ ListenAddr: `${address}:2377`, AdvertiseAddr: address })
}

async function statusOf(person: Person, id: string): Promise<string> {
  return (await read(WebAgentDetail, person.get(`/api/agents/${id}`))).agent.status
}
