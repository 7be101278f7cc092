import { useMutation, useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { RequestDetail } from '../../src/features/ai/requests/schemas.ts'
import { queryClient } from '../api/query-client.ts'
import { formatCost, formatCount, formatDuration } from '../cost/figures.ts'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { Modal } from '../ui/modal.tsx'
import { Moment } from '../ui/moment.tsx'
import { ErrorNotice, Loaded, Skeleton } from '../ui/notice.tsx'
import { deleteBodies, requestQuery } from './requests-api.ts'

type SheetProps = { generationId: string; onClose: () => void; onShow: (generationId: string) => void }

export function RequestSheet({ generationId, onClose, onShow }: SheetProps) {
  const query = useQuery(requestQuery(generationId))
  return (
    <Modal label="Request" isLight onClose={onClose} className="grid max-w-2xl gap-5 p-5">
      <h2 className="text-lg font-semibold">Request</h2>
      <Loaded query={query} what="request" placeholder={<Skeleton className="h-80" />}>
        {(detail) => <Detail detail={detail} onShow={onShow} />}
      </Loaded>
      <Button className="justify-self-end" onClick={onClose}>
        Close
      </Button>
    </Modal>
  )
}

function Detail({ detail, onShow }: { detail: RequestDetail } & Pick<SheetProps, 'onShow'>) {
  const { answeredBy } = detail
  return (
    <>
      <Facts facts={toFacts(detail)} />
      {answeredBy && (
        <Button className="justify-self-start" onClick={() => onShow(answeredBy)}>
          Show the attempt that answered
        </Button>
      )}
      <Attempts detail={detail} />
      <Bodies detail={detail} />
    </>
  )
}

type Fact = readonly [name: string, value: ReactNode]

function Facts({ facts }: { facts: readonly Fact[] }) {
  return (
    <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-5 gap-y-1.5 text-sm">
      {facts.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-muted">{name}</dt>
          <dd className="break-words">{value}</dd>
        </div>
      ))}
    </dl>
  )
}

function toFacts(detail: RequestDetail): Fact[] {
  const { agentId, agentName, keyId, keyName, endUser, tags, finishReason, firstTokenMs, generationId } = detail
  const cached = detail.cachedInputTokens > 0 ? ` (${formatCount(detail.cachedInputTokens)} cached)` : ''
  const facts: (Fact | false)[] = [
    ['Time', <Moment key="at" at={detail.at} as="minute" />],
    ['Result', detail.succeeded ? 'Succeeded' : (detail.error ?? 'Failed')],
    finishReason !== null && ['Finish reason', finishReason],
    ['Model', `${detail.model}${detail.provider ? ` at ${detail.provider}` : ''}`],
    ['Endpoint', detail.endpoint ?? 'Unknown'],
    agentId !== 'direct' && ['Agent', agentName ?? agentId],
    keyId !== null && ['API key', keyName ?? keyId],
    endUser !== null && ['End user', endUser],
    tags.length > 0 && ['Tags', tags.map((tag) => <Badge key={tag}>{tag}</Badge>)],
    ['Duration', formatTime(detail.latencyMs)],
    firstTokenMs !== null && ['First token after', formatTime(firstTokenMs)],
    [
      'Tokens',
      `${formatCount(detail.inputTokens)} input${cached}, ${formatCount(detail.outputTokens)} output${detail.isEstimated ? ' (estimated)' : ''}`,
    ],
    ['Cost', formatCost(detail.costUsd)],
    ['Price', describePrice(detail)],
    ['Generation ID', generationId ?? 'Unknown'],
  ]
  return facts.filter((fact) => fact !== false)
}

function describePrice({ priceSource, isOwnKey }: RequestDetail): string {
  const sources = {
    provider: 'Reported by the provider',
    administrator: 'Set by the administrator',
    list: 'List price',
    cache: 'Free, from the response cache',
  }
  const source = priceSource ? sources[priceSource] : 'Unknown'
  return isOwnKey ? `${source}, paid with your own provider key` : source
}

const failures: Readonly<Record<string, string>> = {
  aborted: 'Stopped by the caller',
  blocked: 'Blocked by a guardrail',
  broken: 'Provider error',
  caller: 'Invalid request',
  cooldown: 'Skipped after earlier failures',
  credentials: 'Key rejected',
  limited: 'Rate limit',
  missing: 'Unknown model',
  stopped: 'Server stopped',
  timeout: 'Timeout',
}

function Attempts({ detail: { tried, generationId } }: { detail: RequestDetail }) {
  return (
    <section className="grid grid-cols-1 gap-2">
      <h3 className="font-semibold">Attempts</h3>
      <ol className="grid grid-cols-1 gap-2 text-sm">
        {tried.map((attempt, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: attempts have no other identity, and their order is fixed
          <li key={index} className="grid grid-cols-1 gap-0.5 rounded-lg bg-sunken px-3 py-2">
            <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
              <span className="min-w-0 font-medium break-words">{attempt.model}</span>
              <span className="text-muted">{attempt.provider}</span>
              <Badge tone={attempt.failure === null ? 'good' : 'problem'}>
                {attempt.failure === null ? 'Answered' : (failures[attempt.failure] ?? 'Failed')}
              </Badge>
              {attempt.generationId === generationId && tried.length > 1 && <Badge>This request</Badge>}
            </span>
            <span className="break-words text-muted">
              {attempt.failure !== 'cooldown' && formatTime(attempt.latencyMs)}
              {attempt.error && ` · ${attempt.error}`}
            </span>
          </li>
        ))}
      </ol>
    </section>
  )
}

function Bodies({ detail: { bodies, generationId } }: { detail: RequestDetail }) {
  const removal = useMutation({
    mutationFn: () => deleteBodies(generationId ?? ''),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: requestQuery(generationId ?? '').queryKey }),
  })
  if (!bodies) {
    return (
      <p className="text-sm text-muted">No stored bodies. Turn on body logging in the settings of a key or agent.</p>
    )
  }
  return (
    <section className="grid grid-cols-1 gap-2">
      <h3 className="font-semibold">Bodies</h3>
      <p className="text-sm text-muted">
        Keys and personal data are removed. Deleted on <Moment at={bodies.expiresAt} />.
      </p>
      <Body name="Request" text={bodies.request} />
      {bodies.answer !== null && <Body name="Answer" text={bodies.answer} />}
      <ErrorNotice error={removal.error} />
      <Button
        look="danger"
        className="justify-self-start"
        isPending={removal.isPending}
        onClick={() => removal.mutate()}
      >
        Delete bodies
      </Button>
    </section>
  )
}

function Body({ name, text }: { name: string; text: string }) {
  return (
    <details className="rounded-lg bg-sunken">
      <summary className="min-h-9 cursor-pointer px-3 py-2 text-sm font-medium">{name}</summary>
      <pre className="max-h-80 overflow-auto px-3 pb-3 font-mono text-[0.8125rem] whitespace-pre-wrap break-words">
        {text}
      </pre>
    </details>
  )
}

function formatTime(ms: number | null): string {
  return ms === null ? 'Unknown' : formatDuration(ms)
}
