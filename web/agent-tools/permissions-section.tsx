import { queryOptions, useQuery } from '@tanstack/react-query'
import type { AgentEgress } from '../../src/features/agents/egress/schemas.ts'
import type { WebAgentDetail } from '../../src/features/agents/registry/schemas.ts'
import type { DayLimits } from '../../src/features/ai/breakers/schemas.ts'
import { LEASH_AREAS, Leash, type LeashClaim } from '../../src/features/conversations/leash/schemas.ts'
import { agentQuery, isOnOwnMachine } from '../agents/agents-api.ts'
import { api, inPath, request } from '../api/request.ts'
import { formatCost } from '../cost/figures.ts'
import { Badge } from '../ui/badge.tsx'
import { Loaded, Notice, Skeleton } from '../ui/notice.tsx'
import { Fact, Facts, Section } from '../ui/panel.tsx'

function leashQuery(agentId: string) {
  return queryOptions({
    queryKey: [...agentQuery(agentId).queryKey, 'leash'],
    queryFn: ({ signal }) => request(Leash, api.GET('/api/agents/{id}/leash', { ...inPath({ id: agentId }), signal })),
    refetchInterval: 30_000,
  })
}

type ShownAgent = WebAgentDetail['agent']

/** Shows what an agent may reach, spend, send and change. */
export function PermissionsSection({ agent }: { agent: ShownAgent }) {
  const query = useQuery(leashQuery(agent.id))
  const { state } = agent.isolation
  return (
    <Section
      title="Permissions"
      badge={state === 'isolated' ? <Badge tone="good">Isolated</Badge> : <Badge tone="warning">Not isolated</Badge>}
      lead={`What ${agent.name} can reach, spend, send and change. Settings changes these.`}
    >
      <Loaded query={query} what="permissions" placeholder={<Skeleton className="h-48" />}>
        {(leash) => (
          <>
            <IsolationNotice agent={agent} />
            {!leash.complete && (
              <Notice tone="warning" title="OpenClaw has tools of its own">
                Tools and limits of messages, tool calls and files in Stead do not apply to them.
              </Notice>
            )}
            <Facts>
              <Fact name="Network">{describeNetwork(leash.egress)}</Fact>
              {listUses(leash.limits).map(({ name, text }) => (
                <Fact key={name} name={name}>
                  {text}
                </Fact>
              ))}
            </Facts>
            {LEASH_AREAS.map((area) => (
              <Claims key={area} title={AREAS[area]} claims={leash.claims.filter((claim) => claim.area === area)} />
            ))}
          </>
        )}
      </Loaded>
    </Section>
  )
}

function IsolationNotice({ agent }: { agent: ShownAgent }) {
  const { state, reason } = agent.isolation
  if (isOnOwnMachine(agent)) {
    return (
      <Notice tone="warning" title="Not isolated">
        This agent runs on your own machine, with the rights of the user who started it there.
      </Notice>
    )
  }
  if (state === 'isolated')
    return reason === null ? null : <p className="text-sm text-muted">Isolated, but {reason}.</p>
  return (
    <Notice tone="warning" title="Not isolated">
      The operating system does not separate this agent from Stead and other agents: {reason}.
    </Notice>
  )
}

const POLICIES: Record<AgentEgress['policy'], string> = {
  open: 'Every public host',
  'allow-list': 'Listed hosts only',
  none: 'No host',
}

function describeNetwork({ policy, gap }: AgentEgress): string {
  return `${POLICIES[policy]}${gap === null ? '' : ', not enforced'}`
}

const KINDS = { usd: 'Cost', tokens: 'Tokens', messages: 'Messages', toolCalls: 'Tool calls', files: 'Files' } as const
const ACTIONS = { ask: 'then asks you', pause: 'then pauses until midnight', stop: 'then stops' } as const

/** Describes today's use, and the limits that are set. */
function listUses({ limits }: DayLimits): { name: string; text: string }[] {
  return (Object.keys(KINDS) as (keyof typeof KINDS)[]).map((kind) => {
    const { used, limit, extra, action } = limits[kind]
    const shown = (amount: number) => (kind === 'usd' ? formatCost(amount) : amount.toLocaleString('en'))
    const most = limit === null ? ', no limit' : ` of ${shown(limit + extra)}, ${ACTIONS[action]}`
    return { name: `${KINDS[kind]} today`, text: `${shown(used)}${most}` }
  })
}

const AREAS = { reach: 'Reach', spend: 'Spend', send: 'Send', change: 'Change' } as const
const MODES = {
  free: { tone: 'plain', word: 'Without asking' },
  sometimes: { tone: 'plain', word: 'Asks at times' },
  ask: { tone: 'good', word: 'Asks first' },
  never: { tone: 'good', word: 'Off' },
} as const

function Claims({ title, claims }: { title: string; claims: readonly LeashClaim[] }) {
  if (claims.length === 0) return null
  return (
    <details>
      <summary className="cursor-pointer font-medium">
        {title} <span className="text-sm font-normal text-muted">({countFree(claims)} without asking)</span>
      </summary>
      <ul aria-label={title} className="mt-2 grid grid-cols-1">
        {claims.map(({ name, mode, text }) => (
          <li
            key={`${name} ${text}`}
            className="flex flex-wrap items-center gap-2 border-b border-line py-1.5 text-sm last:border-0"
          >
            <span className="min-w-0 flex-1 wrap-anywhere">{text}</span>
            <Badge tone={MODES[mode].tone}>{MODES[mode].word}</Badge>
          </li>
        ))}
      </ul>
    </details>
  )
}

function countFree(claims: readonly LeashClaim[]): number {
  return claims.filter(({ mode }) => mode === 'free' || mode === 'sometimes').length
}
