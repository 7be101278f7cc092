import type { ReactNode } from 'react'
import type { Key } from '../../src/features/accounts/keys/schemas.ts'
import { Badge } from '../ui/badge.tsx'
import { Moment } from '../ui/moment.tsx'

export function KeyBadges({ apiKey }: { apiKey: Key }) {
  return (
    <>
      <code className="font-mono text-[0.8125rem] text-muted">{apiKey.keyPreview}</code>
      {apiKey.disabled && <Badge tone="warning">Disabled</Badge>}
      {isExpired(apiKey) && <Badge tone="problem">Expired</Badge>}
      {apiKey.scopes.map((scope) => (
        <Badge key={scope}>{scope}</Badge>
      ))}
      {[...describeLimits(apiKey.limits), ...describeSettings(apiKey)].map((limit) => (
        <Badge key={limit}>{limit}</Badge>
      ))}
    </>
  )
}

export function KeyDates({ apiKey }: { apiKey: Key }) {
  return (
    <p className="flex flex-wrap gap-x-3 text-sm text-muted">
      <Fact>
        Created <Moment at={apiKey.createdAt} />
      </Fact>
      <Fact>
        {apiKey.lastUsed ? (
          <>
            Last used <Moment at={apiKey.lastUsed} as="distance" />
          </>
        ) : (
          'Never used'
        )}
      </Fact>
      <Fact>
        {apiKey.expiresAt ? (
          <>
            {isExpired(apiKey) ? 'Expired' : 'Expires'} <Moment at={apiKey.expiresAt} />
          </>
        ) : (
          'Does not expire'
        )}
      </Fact>
    </p>
  )
}

function isExpired({ expiresAt }: Key): boolean {
  return expiresAt !== null && new Date(expiresAt).getTime() <= Date.now()
}

function describeLimits(limits: Key['limits']): string[] {
  const { monthlyBudgetUsd, monthlyTokens, models, requestsPerMinute, endUserBudgetUsd } = limits
  return [
    ...(monthlyBudgetUsd === null ? [] : [`$${monthlyBudgetUsd} per month`]),
    ...(endUserBudgetUsd === null ? [] : [`$${endUserBudgetUsd} per month and end user`]),
    ...(monthlyTokens === null ? [] : [`${monthlyTokens.toLocaleString('en')} tokens per month`]),
    ...(requestsPerMinute === null ? [] : [`${requestsPerMinute} requests per minute`]),
    ...(models === null ? [] : [`${models.length} ${models.length === 1 ? 'model' : 'models'}`]),
  ]
}

function describeSettings({ allowedCidrs, budgetIncrease, cacheSeconds, guardrails }: Key): string[] {
  const isIncreased = budgetIncrease !== null && new Date(budgetIncrease.until).getTime() > Date.now()
  return [
    ...(isIncreased ? [`+$${budgetIncrease.usd} until ${budgetIncrease.until.slice(0, 10)}`] : []),
    ...(allowedCidrs.length === 0 ? [] : ['Restricted addresses']),
    ...(cacheSeconds === null ? [] : ['Cache']),
    ...(guardrails === null ? [] : ['Guardrails']),
  ]
}

function Fact({ children }: { children: ReactNode }) {
  return <span className="whitespace-nowrap">{children}</span>
}
