import { createAgentGateway } from '../../adapters/gateways/gateway.ts'
import { createDockerRuntime } from '../../adapters/runtimes/docker/docker.ts'
import { createEngine } from '../../adapters/runtimes/engine/engine.ts'
import { systemClock } from '../../core/clock.ts'
import { AppError } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { pause } from '../../jobs/runner.ts'
import { UsageError } from '../exit.ts'
import type { Gateway } from './machine.ts'

const AGENT_ID = 'home'
const PULL_TIMEOUT_MS = 1_800_000
/** Timeout and interval of health checks of the container. */
const BEGIN_MS = 60_000
const POLL_MS = 2000
const GIGABYTE = 1024 ** 3
/** Fixed limits that a small machine can afford; no plan applies here. */
const LIMITS = { memoryBytes: 2 * GIGABYTE, cpus: 2, processes: 256 }

export type HomeContainer = {
  image: string
  port: number
  name: string
  model: string
  platform: { url: string; key: string }
  gatewayToken: string
  /** Label that distinguishes this folder's container from others in the engine. */
  instance: string
  dockerHost: string
}

/**
 * Runs the agent as a container with the platform's security profile and stops it at the end; its volume stays.
 * @throws AppError `internal` without an engine, `not_found` IMAGE_NOT_FOUND, `conflict` PORT_TAKEN.
 */
export async function startHomeContainer(home: HomeContainer, log: Log): Promise<Gateway> {
  const { platform, gatewayToken, instance, image, port } = home
  // Inside the container, localhost is the container itself.
  if (/^(?:localhost|127\.|\[::1\])/.test(new URL(platform.url).hostname)) {
    throw new UsageError('--platform: a container cannot reach this address; give one of this machine’s network')
  }
  if (port === 0) throw new UsageError('--port: a container needs a fixed one')
  const engine = createEngine(home.dockerHost)
  const runtime = createDockerRuntime({ engine, instance, digestKey: gatewayToken, clock: systemClock, log })
  await runtime.pull(image, () => undefined, AbortSignal.timeout(PULL_TIMEOUT_MS))
  await runtime.deploy({
    id: AGENT_ID,
    image,
    port,
    environment: { AGENT_ID, AGENT_NAME: home.name, AGENT_MODEL: home.model, PLATFORM_URL: platform.url },
    secrets: { GATEWAY_TOKEN: gatewayToken, PLATFORM_TOKEN: platform.key },
    limits: LIMITS,
  })
  const endpoint = { baseUrl: `http://127.0.0.1:${port}`, gatewayToken, kind: 'stead' } as const
  const gateway = createAgentGateway({ fetch })
  const waited = AbortSignal.timeout(BEGIN_MS)
  while (!waited.aborted && !(await gateway.isLive(endpoint))) await pause(POLL_MS, waited)
  return {
    machine: { mode: 'home', gatewayUrl: endpoint.baseUrl, gatewayToken },
    async check() {
      if (await gateway.isLive(endpoint)) return
      throw new AppError('unavailable', 'The container does not answer')
    },
    async stop() {
      await runtime.stop(AGENT_ID)
      await runtime.close()
    },
  }
}
