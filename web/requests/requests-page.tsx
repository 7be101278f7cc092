import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import type { SubmitEvent } from 'react'
import type { LoggedRequest } from '../../src/features/ai/requests/schemas.ts'
import { agentsQuery } from '../agents/agents-api.ts'
import { formatCost, formatCount, formatDuration } from '../cost/figures.ts'
import { keysQuery } from '../keys/keys-api.ts'
import { RequestsSearch } from '../routes/searches.ts'
import { Page } from '../shell/page.tsx'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { SelectField, TextField } from '../ui/field.tsx'
import { Moment } from '../ui/moment.tsx'
import { Loaded, Skeleton } from '../ui/notice.tsx'
import { OlderPages } from '../ui/older-pages.tsx'
import { cellClass, Panel, TableFrame } from '../ui/panel.tsx'
import { RequestSheet } from './request-sheet.tsx'
import { type RequestFilters, requestsQuery } from './requests-api.ts'

const route = getRouteApi('/signed-in/requests')

/** Page `/requests`. */
export function RequestsPage() {
  const { request: shown, ...filters } = route.useSearch()
  const navigate = useNavigate()
  const show = (request?: string) => void navigate({ to: '/requests', search: { ...filters, request } })
  return (
    <Page title="Requests" lead="Model requests of your agents and API keys, newest first.">
      <Filters key={JSON.stringify(filters)} filters={filters} />
      <Requests filters={filters} onShow={show} />
      {shown && <RequestSheet generationId={shown} onClose={() => show()} onShow={show} />}
    </Page>
  )
}

function Filters({ filters }: { filters: RequestFilters }) {
  const navigate = useNavigate()
  const keys = useQuery(keysQuery).data ?? []
  const agents = useQuery(agentsQuery).data ?? []
  const onSubmit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault()
    void navigate({
      to: '/requests',
      search: RequestsSearch.parse(Object.fromEntries(new FormData(event.currentTarget))),
    })
  }
  return (
    <form onSubmit={onSubmit} aria-label="Filters" className="grid grid-cols-2 items-end gap-3 sm:grid-cols-4">
      <SelectField key={keys.length} label="API key" name="key" defaultValue={filters.key ?? ''}>
        <Choices ids={keys} chosen={filters.key} />
      </SelectField>
      <SelectField key={`agents ${agents.length}`} label="Agent" name="agent" defaultValue={filters.agent ?? ''}>
        <Choices ids={agents} chosen={filters.agent} />
      </SelectField>
      <SelectField label="Result" name="status" defaultValue={filters.status ?? ''}>
        <option value="">All</option>
        <option value="succeeded">Succeeded</option>
        <option value="failed">Failed</option>
      </SelectField>
      <WordField label="Model" name="model" filters={filters} />
      <WordField label="End user" name="endUser" filters={filters} />
      <WordField label="Tag" name="tag" filters={filters} />
      <Button type="submit" look="primary" className="justify-self-start">
        Filter
      </Button>
    </form>
  )
}

function Choices({ ids, chosen }: { ids: readonly { id: string; name: string }[]; chosen: string | undefined }) {
  return (
    <>
      <option value="">All</option>
      {chosen && !ids.some(({ id }) => id === chosen) && <option value={chosen}>{chosen}</option>}
      {ids.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </>
  )
}

type WordFieldProps = { label: string; name: 'model' | 'endUser' | 'tag'; filters: RequestFilters }

function WordField({ label, name, filters }: WordFieldProps) {
  return (
    <TextField
      label={label}
      name={name}
      maxLength={512}
      autoCapitalize="none"
      autoComplete="off"
      spellCheck={false}
      defaultValue={filters[name] ?? ''}
    />
  )
}

type RequestsProps = { filters: RequestFilters; onShow: (generationId: string) => void }

function Requests({ filters, onShow }: RequestsProps) {
  const query = useInfiniteQuery(requestsQuery(filters))
  return (
    <Panel
      title="Requests"
      actions={
        <Button isPending={query.isFetching} onClick={() => void query.refetch()}>
          Refresh
        </Button>
      }
    >
      <Loaded
        query={query}
        what="requests"
        problemClassName="px-4 pb-4"
        placeholder={<Skeleton className="mx-4 mb-4 h-80" />}
      >
        {({ pages }) => <RequestTable requests={pages.flatMap(({ requests }) => requests)} onShow={onShow} />}
      </Loaded>
      <OlderPages query={query} what="requests" />
    </Panel>
  )
}

const columns = {
  Time: 'text',
  Model: 'text',
  'Agent or key': 'text',
  'End user': 'text',
  Tokens: 'number',
  Duration: 'number',
  Cost: 'number',
} as const

function RequestTable({ requests, onShow }: { requests: readonly LoggedRequest[] } & Pick<RequestsProps, 'onShow'>) {
  if (requests.length === 0) {
    return <p className="border-t border-line px-4 py-4 text-sm text-muted">No matching requests</p>
  }
  return (
    <TableFrame label="Requests" columns={columns}>
      {requests.map((request) => (
        <tr key={request.id}>
          <td className={cellClass('text')}>
            <button
              type="button"
              onClick={() => request.generationId && onShow(request.generationId)}
              className="min-h-8 text-accent underline underline-offset-2"
            >
              <Moment at={request.at} as="minute" />
            </button>
          </td>
          <td className={`${cellClass('text')} max-w-56 truncate`} title={request.model}>
            {request.model} {!request.succeeded && <Badge tone="problem">Failed</Badge>}
          </td>
          <td className={`${cellClass('text')} max-w-40 truncate`}>{callerOf(request)}</td>
          <td className={`${cellClass('text')} max-w-40 truncate`}>{request.endUser}</td>
          <td className={cellClass('number')}>{formatCount(request.inputTokens + request.outputTokens)}</td>
          <td className={cellClass('number')}>
            {request.latencyMs === null ? 'Unknown' : formatDuration(request.latencyMs)}
          </td>
          <td className={cellClass('number')}>{formatCost(request.costUsd)}</td>
        </tr>
      ))}
    </TableFrame>
  )
}

function callerOf({ agentId, agentName, keyId, keyName }: LoggedRequest): string {
  if (agentId !== 'direct') return agentName ?? agentId
  return keyName ?? keyId ?? 'Dashboard'
}
