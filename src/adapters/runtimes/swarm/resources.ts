import { createHmac } from 'node:crypto'
import { z } from 'zod'
import { AppError } from '../../../core/errors.ts'
import { hasStatus, LABELS, orNull } from '../engine/engine.ts'
import { look, type SwarmRuntimeParts, toServiceName } from './cluster.ts'
import type { SecretFile } from './spec.ts'
import { untilReleased } from './waiting.ts'

/** Creates the agent's own network. */
export async function makeNetwork(deps: SwarmRuntimeParts, id: string): Promise<void> {
  const name = toServiceName(deps.instance, id)
  const labels = { [LABELS.instance]: deps.instance, [LABELS.agent]: id }
  try {
    await deps.engine.change((docker, abortSignal) =>
      docker.createNetwork({ Name: name, Driver: 'overlay', CheckDuplicate: true, Labels: labels, abortSignal }),
    )
  } catch (error) {
    // Left by a deployment that a crash interrupted.
    if (!hasStatus(error, 409)) throw error
  }
}

/** Removes the network once its last task has released it. @throws AppError `internal` when none does. */
export async function removeNetwork(deps: SwarmRuntimeParts, id: string): Promise<void> {
  const network = toServiceName(deps.instance, id)
  await untilReleased('network', () =>
    deps.engine.change((docker, abortSignal) => orNull(docker.getNetwork(network).remove({ abortSignal }))),
  )
}

const Secrets = z.array(z.object({ ID: z.string(), Spec: z.object({ Name: z.string() }) }))
/** Docker's limit. */
const MAX_SECRET_BYTES = 500 * 1024

/**
 * Creates a Docker secret for each file. Secrets are immutable: another value gets another name, and an existing secret
 * is reused, also after a crash.
 * @throws AppError `invalid` for a size that Docker rejects.
 */
export async function keepSecrets(
  deps: SwarmRuntimeParts,
  agentId: string,
  files: Readonly<Record<string, string>>,
): Promise<SecretFile[]> {
  for (const [file, content] of Object.entries(files)) requireSize(file, content)
  const kept = new Map((await listSecrets(deps, agentId)).map(({ ID, Spec }) => [Spec.Name, ID]))
  return Promise.all(
    Object.entries(files).map(async ([file, content]) => {
      const secretName = toSecretName(deps, agentId, file, content)
      const secretId = kept.get(secretName) ?? (await createSecret(deps, agentId, secretName, content))
      return { file, secretId, secretName }
    }),
  )
}

/** Removes the agent's secrets except `used`. One that a service still uses stays until the next call. */
export async function dropSecrets(deps: SwarmRuntimeParts, agentId: string, used: ReadonlySet<string>): Promise<void> {
  const unused = (await listSecrets(deps, agentId)).filter(({ ID }) => !used.has(ID))
  await Promise.all(
    unused.map(({ ID }) =>
      deps.engine
        .change((docker, abortSignal) => docker.getSecret(ID).remove({ abortSignal }))
        .catch((error: unknown) => {
          if (!hasStatus(error, 400, 404, 409)) throw error
        }),
    ),
  )
}

async function listSecrets(deps: SwarmRuntimeParts, agentId: string) {
  const filters = { label: [`${LABELS.instance}=${deps.instance}`, `${LABELS.agent}=${agentId}`] }
  return look(deps, async (docker) => Secrets.parse(await docker.listSecrets({ filters: JSON.stringify(filters) })))
}

async function createSecret(deps: SwarmRuntimeParts, agentId: string, name: string, content: string): Promise<string> {
  const { id } = await deps.engine.change((docker) =>
    docker.createSecret({
      Name: name,
      Labels: { [LABELS.instance]: deps.instance, [LABELS.agent]: agentId },
      Data: Buffer.from(content).toString('base64'),
    }),
  )
  return id
}

/** Returns a name that does not reveal the value. */
function toSecretName(deps: SwarmRuntimeParts, agentId: string, file: string, content: string): string {
  const parts = JSON.stringify([deps.instance, agentId, file, content])
  return `stead-${createHmac('sha256', deps.digestKey).update(parts).digest('hex').slice(0, 40)}`
}

function requireSize(file: string, content: string): void {
  const size = Buffer.byteLength(content)
  if (size > 0 && size <= MAX_SECRET_BYTES) return
  throw new AppError('invalid', `Agent spec: secrets.${file} must have 1 to ${MAX_SECRET_BYTES} bytes in a swarm`)
}
