import { expect, test } from 'bun:test'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { z } from 'zod'
import { createAgent, signIn, signUp } from '../../harness/client.ts'
import { openInstallation } from '../../harness/server.ts'
import { until } from '../../harness/until.ts'

const PATIENCE_MS = 600_000
const Agents = z.object({ agents: z.array(z.object({ status: z.string(), lastError: z.string().nullable() })) })

test(
  'AGENT_RUNTIME=auto: provisioning and doctor fail with the reason when containers ran before, and no process is started',
  async () => {
    await using installation = await openInstallation({
      environment: { AGENT_RUNTIME: 'auto', DOCKER_HOST: '/nowhere/docker.sock' },
    })
    const first = await installation.start()
    const agentId = await createAgent(await signUp(first.urls.web))
    expect((await installation.run(['doctor'])).stdout).toContain('✓ agents: run as processes')
    await first.stop()

    const database = new Database(join(installation.dataDir, 'stead.db'))
    database.exec('UPDATE residence SET ran_containers_at = 1')
    database.close()

    const { urls } = await installation.start()
    const person = await signIn(urls.web)
    await person.post('/api/agents/provision', { name: 'Bo' })
    const failed = await until('the provisioning to end', async () => {
      const { agents } = Agents.parse(await (await person.get('/api/agents')).json())
      return agents.find(({ status }) => status === 'error')
    })
    expect(failed.lastError).toContain('no container engine answers at DOCKER_HOST=/nowhere/docker.sock (start Docker)')
    expect([...(await installation.agentPids()).keys()]).toEqual([agentId])
    const doctor = await installation.run(['doctor'])
    expect(doctor.exitCode).toBe(1)
    expect(doctor.stdout).toContain(
      '✗ agents: New agents of this installation run in containers, and no container engine',
    )
  },
  PATIENCE_MS,
)
