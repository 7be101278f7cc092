import type Docker from 'dockerode'
import { z } from 'zod'
import { type Engine, LABELS } from './engine.ts'

const Volume = z.object({
  Labels: z.record(z.string(), z.string()).nullish(),
  UsageData: z.object({ Size: z.number() }).nullish(),
})
const Usage = z.object({ Volumes: z.array(Volume).nullish() })

/**
 * Bytes of what each agent of an installation has stored in volumes of this engine, by its id. The engine counts every
 * file: that can take a while.
 */
export async function measureVolumes(engine: Engine, instance: string): Promise<ReadonlyMap<string, number>> {
  const answer: unknown = await engine.change((docker, abortSignal) => readUsage(docker, abortSignal))
  const bytes = new Map<string, number>()
  for (const { Labels, UsageData } of Usage.parse(answer).Volumes ?? []) {
    const agentId = Labels?.[LABELS.agent]
    if (!agentId || Labels[LABELS.instance] !== instance || LABELS.secrets in Labels) continue
    bytes.set(agentId, (bytes.get(agentId) ?? 0) + Math.max(0, UsageData?.Size ?? 0))
  }
  return bytes
}

/** dockerode's own call counts images and containers as well, which takes longer. */
function readUsage(docker: Docker, abortSignal: AbortSignal): Promise<unknown> {
  const statusCodes = { 200: true, 500: 'server error' }
  const options = { path: '/system/df?type=volume', method: 'GET', abortSignal, statusCodes }
  return new Promise((resolve, reject) => {
    docker.modem.dial(options, (error: unknown, data: unknown) => (error ? reject(error) : resolve(data)))
  })
}
