import type { Service, ServiceSpec } from './answers.ts'
import { NODE_LABEL, WANTED_LABEL, type Wanted } from './spec.ts'

/** What was last wanted of an agent. */
export function wantedOf({ Spec }: Service): Wanted {
  const label = Spec.Labels[WANTED_LABEL]
  if (label === 'exited' || label === 'held') return label
  // Somebody may have scaled it by hand.
  return Spec.Mode.Replicated.Replicas > 0 ? 'running' : 'stopped'
}

/** Has somebody ended or started it with Docker's own commands, past the platform? */
export function isScaledByHand({ Spec }: Service): boolean {
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
