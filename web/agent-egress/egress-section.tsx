import { useQuery } from '@tanstack/react-query'
import { z } from 'zod'
import { type AgentEgress, AllowList, EgressRequest } from '../../src/features/agents/egress/schemas.ts'
import type { WebAgent } from '../../src/features/agents/registry/schemas.ts'
import { Badge } from '../ui/badge.tsx'
import { SelectField, TextArea } from '../ui/field.tsx'
import { Form, useForm } from '../ui/form.tsx'
import { ErrorNotice, Loaded, Notice, Skeleton } from '../ui/notice.tsx'
import { Section } from '../ui/panel.tsx'
import { BlockedRow } from './blocked-row.tsx'
import { blockedQuery, changeEgress, egressQuery, useAllow } from './egress-api.ts'

const policies = [
  { value: 'open', label: 'Open: every public host' },
  { value: 'allow-list', label: 'Allow list: only the hosts below' },
  { value: 'none', label: 'None: no host' },
] as const

const EgressForm = z.object({
  policy: EgressRequest.shape.policy,
  allow: z
    .string()
    .transform((text) => text.split(/[\s,]+/).filter(Boolean))
    .pipe(AllowList),
})

/** Hosts that an agent may reach, and those that were refused. */
export function EgressSection({ agent }: { agent: WebAgent }) {
  const query = useQuery(egressQuery(agent.id))
  return (
    <Section
      title="Network access"
      badge={query.data && query.data.policy !== 'open' && <Badge>Limited</Badge>}
      lead={`Hosts that ${agent.name} and its programs may reach. Private addresses are always blocked. Changes apply to the next connection.`}
    >
      <Loaded query={query} what="network access" placeholder={<Skeleton className="h-48" />}>
        {(egress) => (
          <>
            {egress.gap !== null && (
              <Notice tone="warning" title="Not enforced">
                {egress.gap}. Programs that ignore the proxy settings reach the network directly.
              </Notice>
            )}
            <EgressFields key={JSON.stringify(egress)} agentId={agent.id} egress={egress} />
            <Blocked agentId={agent.id} />
          </>
        )}
      </Loaded>
    </Section>
  )
}

function EgressFields({ agentId, egress }: { agentId: string; egress: AgentEgress }) {
  const form = useForm(EgressForm, (changed) => changeEgress(agentId, changed))
  return (
    <Form form={form} verb="Save network access">
      <SelectField label="Policy" name="policy" defaultValue={egress.policy}>
        {policies.map(({ value, label }) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </SelectField>
      <TextArea
        label="Allow list, one host per line; *.example.com matches all subdomains, ports other than 80 and 443 are added as host:port"
        name="allow"
        rows={4}
        placeholder={'api.example.com\n*.example.org\ndb.example.net:5432'}
        defaultValue={egress.allow.join('\n')}
      />
    </Form>
  )
}

function Blocked({ agentId }: { agentId: string }) {
  const { data: blocked = [] } = useQuery(blockedQuery(agentId))
  const allow = useAllow(agentId)
  if (blocked.length === 0) return null
  return (
    <section aria-label="Blocked destinations" className="grid grid-cols-1 gap-2">
      <h3 className="text-sm font-medium">Blocked recently</h3>
      <ErrorNotice error={allow.error} />
      <ol className="max-h-80 divide-y divide-line overflow-y-auto rounded-lg border border-line">
        {blocked.map((one) => (
          <BlockedRow key={`${one.host}:${one.port}`} blocked={one} allow={allow} />
        ))}
      </ol>
    </section>
  )
}
