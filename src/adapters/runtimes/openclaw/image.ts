import { type AgentDriver, toSecretFiles } from '../contract/agent-image.ts'
import type { AgentSpec } from '../contract/runtime.ts'
import { OPENCLAW_PORT, toOpenClawConfig } from './config.ts'
import start from './start.sh' with { type: 'text' }

const STATE_DIR = '/home/node/.openclaw'
const MEGABYTE = 1024 ** 2
const AMPLE_BYTES = 3 * 1024 ** 3
/** From this version on it needs twice the memory of its predecessors. */
const HUNGRY_SINCE = [2026, 9, 6]

/** OpenClaw as an agent: an image with the label `agent-platform.runtime=openclaw`, as `scripts/openclaw-image.sh` makes one. */
export const openClawDriver: AgentDriver = {
  kind: 'openclaw',
  stateDir: STATE_DIR,
  user: '1000:1000',
  port: OPENCLAW_PORT,
  entrypoint: ['/bin/sh', '-c', start],
  tmpfs: {
    '/tmp': 'rw,nosuid,nodev,noexec,size=128m,mode=1777',
    '/home/node': 'rw,nosuid,nodev,noexec,size=64m,mode=700,uid=1000,gid=1000',
  },
  repairFile: '.repair-requested',
  toInputs(spec, image) {
    const secrets = toSecretFiles(spec.secrets)
    const own = {
      STEAD_SETTINGS: JSON.stringify(toOpenClawConfig(spec)),
      OPENCLAW_NODE_FLAGS: toNodeFlags(spec, image.version),
      NO_COLOR: '1',
    }
    return { environment: { ...spec.environment, ...own, ...secrets.environment }, files: secrets.files }
  },
}

/**
 * Makes a hungry version fit a small container: 846 MiB instead of 1003 after two turns, for two thirds more processor
 * time at the start. Nothing where that is not needed.
 */
function toNodeFlags({ limits }: AgentSpec, version: string | null): string {
  if (limits.memoryBytes >= AMPLE_BYTES || !isHungry(version)) return ''
  const heapMegabytes = Math.floor(limits.memoryBytes / 2 / MEGABYTE)
  return `--optimize-for-size --max-semi-space-size=4 --max-old-space-size=${heapMegabytes}`
}

/** A version that cannot be read is taken for a new one. */
function isHungry(version: string | null): boolean {
  const parts = (version ?? '').split('.').map((part) => Number.parseInt(part, 10))
  for (const [index, since] of HUNGRY_SINCE.entries()) {
    const part = parts[index] ?? Number.NaN
    if (part !== since) return !(part < since)
  }
  return true
}
