import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { WebAgent } from '../../src/features/agents/registry/schemas.ts'
import { Moment } from '../ui/moment.tsx'
import { LoadProblem, Skeleton } from '../ui/notice.tsx'
import { Section } from '../ui/section.tsx'
import { Address } from './address.tsx'
import { deploymentsQuery, instanceQuery } from './agent-api.ts'
import { findImage } from './work.ts'

export function ReachSection({ agent }: { agent: WebAgent }) {
  const { data: instance, error, refetch } = useQuery(instanceQuery(agent.id))
  const deployments = useQuery(deploymentsQuery(agent.id)).data
  const image = deployments && findImage(deployments)
  return (
    <Section title="Endpoint" lead="Send requests to these URLs with the gateway token from Settings.">
      <Address label="WebSocket" address={agent.websocketUrl} />
      {error && !instance && <LoadProblem what="running version" error={error} onRetry={refetch} />}
      <dl className="grid grid-cols-1 gap-x-8 gap-y-3 sm:grid-cols-3">
        {(instance || !error) && (
          <>
            <Fact label="Program">
              {instance ? toVersion(instance.runtimeVersion) : <Skeleton className="h-5 w-24" />}
            </Fact>
            <Fact label="Started">
              {instance ? <Start at={instance.startedAt} /> : <Skeleton className="h-5 w-32" />}
            </Fact>
          </>
        )}
        <Fact label="Container ID">
          <code className="font-mono text-[0.8125rem]">{agent.id}</code>
        </Fact>
        {image && (
          <Fact label="Image" className="sm:col-span-3">
            <code className="font-mono text-[0.8125rem]">{image}</code>
          </Fact>
        )}
      </dl>
    </Section>
  )
}

function toVersion(version: string | null): string {
  return version === null ? 'Unknown' : `Version ${version}`
}

function Start({ at }: { at: string | null }) {
  return at === null ? 'Never' : <Moment at={at} as="minute" />
}

type FactProps = { label: string; className?: string; children: ReactNode }

function Fact({ label, className = '', children }: FactProps) {
  return (
    <div className={`grid min-w-0 content-start gap-0.5 ${className}`}>
      <dt className="text-sm text-muted">{label}</dt>
      <dd className="font-medium break-all">{children}</dd>
    </div>
  )
}
