import type { AgentDriver, AgentImage } from '../contract/agent-image.ts'
import type { AgentSpec } from '../contract/runtime.ts'
import { NO_HEALTHCHECK, PROFILE, STOP_SECONDS, toLabels } from '../engine/container.ts'
import { LABELS } from '../engine/engine.ts'
import type { ServiceSpec, SwarmService } from './answers.ts'

/** What someone wants of an agent: `exited` is what bad configuration made of `running`, `held` waits for the next platform. */
export type Wanted = 'running' | 'stopped' | 'exited' | 'held'

/** Labels of services beside those of every engine: neither changes the tasks. */
const WANTED_LABEL = 'stead.wanted'
export const NODE_LABEL = 'stead.node'
export const EXIT_LABEL = 'stead.exit'

/** A file an agent reads, by the secret that holds it. */
export type SecretFile = { file: string; secretId: string; secretName: string }

/** What a service is made from. `name` is also its network's, `maxCpus` are those that every machine has. */
type ServicePlan = {
  name: string
  instance: string
  digest: string
  spec: AgentSpec
  image: AgentImage
  driver: AgentDriver
  environment: Readonly<Record<string, string>>
  secrets: readonly SecretFile[]
  volume: string
  maxCpus: number
  restartDelayMs: number
}

/** An operator keeps agents off a machine by the label `stead.agents=false`. */
const CONSTRAINTS = ['node.platform.os==linux', 'node.labels.stead.agents!=false']
const MILLISECOND_NS = 1_000_000
const SECOND_NS = 1000 * MILLISECOND_NS

/**
 * One replica on an overlay network that no other agent shares, hardened as far as services can be. Docker before 25 leaves
 * `NoNewPrivileges` out for services: what an agent could gain there is bounded by its lack of every capability.
 */
export function toServiceSpec(plan: ServicePlan): ServiceSpec {
  const { name, spec, driver } = plan
  return {
    Name: name,
    Labels: { ...toLabels(plan), [WANTED_LABEL]: 'running' },
    TaskTemplate: {
      ContainerSpec: toContainerSpec(plan),
      Resources: {
        Limits: {
          NanoCPUs: Math.round(Math.min(spec.limits.cpus, plan.maxCpus) * SECOND_NS),
          MemoryBytes: spec.limits.memoryBytes,
          Pids: spec.limits.processes,
        },
      },
      RestartPolicy: { Condition: 'any', Delay: plan.restartDelayMs * MILLISECOND_NS, MaxAttempts: 0 },
      Placement: { Constraints: [...CONSTRAINTS] },
      Networks: [{ Target: name }],
      LogDriver: { Name: PROFILE.LogConfig.Type, Options: PROFILE.LogConfig.Config },
      ForceUpdate: 1,
    },
    Mode: { Replicated: { Replicas: 1 } },
    UpdateConfig: { Parallelism: 1, FailureAction: 'continue', Order: 'stop-first' },
    EndpointSpec: {
      Mode: 'dnsrr',
      Ports: [{ Protocol: 'tcp', TargetPort: driver.port, PublishedPort: spec.port, PublishMode: 'host' }],
    },
  }
}

function toContainerSpec(plan: ServicePlan) {
  const { instance, spec, image, driver, secrets } = plan
  const [UID, GID] = driver.user.split(':')
  const Labels = { [LABELS.instance]: instance, [LABELS.agent]: spec.id }
  return {
    // By its content: a name would be looked up in a registry at each start, and could mean something else elsewhere.
    Image: image.id,
    Labels,
    ...(driver.entrypoint && { Command: [...driver.entrypoint] }),
    Env: Object.entries(plan.environment).map(([key, value]) => `${key}=${value}`),
    User: driver.user,
    Init: PROFILE.Init,
    ReadOnly: PROFILE.ReadonlyRootfs,
    CapabilityDrop: PROFILE.CapDrop,
    Ulimits: PROFILE.Ulimits,
    Privileges: { NoNewPrivileges: true },
    StopGracePeriod: STOP_SECONDS * SECOND_NS,
    Healthcheck: NO_HEALTHCHECK,
    Mounts: [
      { Type: 'volume', Source: plan.volume, Target: driver.stateDir, VolumeOptions: { Labels } },
      ...Object.entries(driver.tmpfs).map(([path, options]) => toTmpfs(path, options)),
    ],
    Secrets: secrets.map(({ file, secretId, secretName }) => ({
      SecretID: secretId,
      SecretName: secretName,
      File: { Name: file, UID, GID, Mode: 0o400 },
    })),
  }
}

/** Services take a size and a mode only; without devices, programs and set-user-id files is what they always have. */
function toTmpfs(path: string, options: string) {
  const [, size = '0', unit = ''] = /(?:^|,)size=(\d+)([kmg]?)/i.exec(options) ?? []
  const [, mode] = /(?:^|,)mode=([0-7]+)/.exec(options) ?? []
  const factor = { '': 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 }[unit.toLowerCase()] ?? 1
  return {
    Type: 'tmpfs',
    Target: path,
    TmpfsOptions: { SizeBytes: Number(size) * factor, Mode: Number.parseInt(mode ?? '1777', 8) },
  }
}

/** What was last wanted of an agent. */
export function wantedOf({ Spec }: SwarmService): Wanted {
  const label = Spec.Labels[WANTED_LABEL]
  if (label === 'exited' || label === 'held') return label
  // Somebody may have scaled it by hand.
  return Spec.Mode.Replicated.Replicas > 0 ? 'running' : 'stopped'
}

/** Has somebody ended or started it with Docker's own commands, past the platform? */
export function isScaledByHand({ Spec }: SwarmService): boolean {
  return (Spec.Labels[WANTED_LABEL] === 'running') !== Spec.Mode.Replicated.Replicas > 0
}

/** What a service is told to be when `wanted` is wanted of its agent: `replicas` is 1 or 0. */
export function scale(spec: ServiceSpec, wanted: Wanted, replicas: number): ServiceSpec {
  return {
    ...spec,
    Labels: { ...spec.Labels, [WANTED_LABEL]: wanted },
    Mode: { Replicated: { Replicas: replicas } },
  }
}

/** The same with the number of another start, which makes the swarm start it anew. */
export function withGeneration(spec: ServiceSpec, generation: number): ServiceSpec {
  return { ...spec, TaskTemplate: { ...spec.TaskTemplate, ForceUpdate: generation } }
}

/** The same, bound to one machine, or, with null, to none. */
export function withNode(spec: ServiceSpec, nodeId: string | null): ServiceSpec {
  const { [NODE_LABEL]: before, ...Labels } = spec.Labels
  const others = (spec.TaskTemplate.Placement.Constraints ?? []).filter((one) => one !== `node.id==${before}`)
  const Constraints = nodeId === null ? others : [...others, `node.id==${nodeId}`]
  return {
    ...spec,
    Labels: nodeId === null ? Labels : { ...Labels, [NODE_LABEL]: nodeId },
    TaskTemplate: { ...spec.TaskTemplate, Placement: { ...spec.TaskTemplate.Placement, Constraints } },
  }
}

/** The same with volume `to` in the place of `from`. */
export function withVolume(spec: ServiceSpec, from: string, to: string): ServiceSpec {
  const { ContainerSpec } = spec.TaskTemplate
  const Mounts = ContainerSpec.Mounts.map((mount) => (mount.Source === from ? { ...mount, Source: to } : mount))
  return { ...spec, TaskTemplate: { ...spec.TaskTemplate, ContainerSpec: { ...ContainerSpec, Mounts } } }
}

/** Ids of the secrets that it is handed. */
export function secretsOf({ TaskTemplate }: ServiceSpec): Set<string> {
  return new Set(TaskTemplate.ContainerSpec.Secrets.map(({ SecretID }) => SecretID))
}
