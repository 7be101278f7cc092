import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { z } from 'zod'
import type { WebAgent } from '../../src/features/agents/registry/schemas.ts'
import type { Verification } from '../../src/features/agents/verification/schemas.ts'
import { findBrowserWallet, signText, type Wallet } from '../account/wallet.ts'
import { refresh } from '../api/query-client.ts'
import { ApiError } from '../api/request.ts'
import { Badge } from '../ui/badge.tsx'
import { Button } from '../ui/button.tsx'
import { SelectField, TextField } from '../ui/field.tsx'
import { Moment } from '../ui/moment.tsx'
import { ErrorNotice, Loaded, Notice, Skeleton } from '../ui/notice.tsx'
import { Section } from '../ui/panel.tsx'
import { createChallenge, removeVerification, verificationQuery, verifyAgent } from './agent-api.ts'

const proofs = {
  ens: { label: 'ENS name', needs: 'A wallet whose primary ENS name resolves to it.' },
  coinbase: { label: 'Coinbase', needs: 'A wallet with a Coinbase attestation on Base.' },
  eas: { label: 'Attestation (EAS)', needs: 'The ID of an attestation for or by your wallet.' },
} as const
const ProofKind = z.enum(['ens', 'coinbase', 'eas'])
type ProofKind = z.infer<typeof ProofKind>

export function VerificationSection({ agent }: { agent: WebAgent }) {
  const query = useQuery(verificationQuery(agent.id))
  return (
    <Section
      title="Verification"
      lead="Shows others that a wallet owner vouches for this agent."
      badge={query.data && (query.data.verified ? <Badge tone="good">Verified</Badge> : <Badge>Not verified</Badge>)}
    >
      <Loaded query={query} what="verification" placeholder={<Skeleton className="h-10 max-w-md" />}>
        {(data) => (data.verified ? <Verified agent={agent} verification={data} /> : <Unverified agent={agent} />)}
      </Loaded>
    </Section>
  )
}

function Verified({ agent, verification }: { agent: WebAgent; verification: Verification }) {
  const removal = useFresh(agent.id, () => removeVerification(agent.id))
  const { verificationType, verifierAddress, verifiedAt, metadata } = verification
  const kind = ProofKind.safeParse(verificationType)
  return (
    <>
      <p className="break-words">
        {kind.success ? proofs[kind.data].label : verificationType}
        {metadata?.name && ` ${metadata.name}`}
        {verifierAddress && (
          <>
            {' of '}
            <code className="font-mono text-[0.8125rem] break-all">{verifierAddress}</code>
          </>
        )}
        {verifiedAt && (
          <>
            , since <Moment at={verifiedAt} />
          </>
        )}
      </p>
      <ErrorNotice error={removal.error} />
      <Button className="justify-self-start" isPending={removal.isPending} onClick={() => removal.mutate()}>
        Remove verification
      </Button>
    </>
  )
}

function Unverified({ agent }: { agent: WebAgent }) {
  const wallet = findBrowserWallet()
  const [kind, setKind] = useState<ProofKind>('ens')
  const [uid, setUid] = useState('')
  const proving = useFresh(agent.id, async () => wallet && prove(agent.id, wallet, kind, uid.trim()))
  if (!wallet) {
    return (
      <p className="text-sm text-muted">
        Requires a browser wallet with an ENS name, a Coinbase attestation or another EAS attestation. Open this page in
        a browser that has one.
      </p>
    )
  }
  return (
    <div className="grid max-w-md grid-cols-1 gap-4">
      <SelectField
        label="Proof"
        value={kind}
        onChange={(event) => setKind(ProofKind.parse(event.target.value))}
        hint={proofs[kind].needs}
      >
        {ProofKind.options.map((option) => (
          <option key={option} value={option}>
            {proofs[option].label}
          </option>
        ))}
      </SelectField>
      {kind === 'eas' && (
        <TextField
          label="Attestation ID"
          value={uid}
          onChange={(event) => setUid(event.target.value)}
          placeholder="0x…"
          spellCheck={false}
        />
      )}
      {proving.isError && <Notice tone="problem">{describe(proving.error)}</Notice>}
      <Button className="justify-self-start" isPending={proving.isPending} onClick={() => proving.mutate()}>
        Sign with your wallet
      </Button>
    </div>
  )
}

function useFresh(agentId: string, mutationFn: () => Promise<unknown>) {
  return useMutation({ mutationFn, onSuccess: () => refresh(verificationQuery(agentId)) })
}

async function prove(agentId: string, wallet: Wallet, kind: ProofKind, uid: string) {
  const message = await createChallenge(agentId)
  const { address, signature } = await signText(wallet, message)
  const proof = { verificationType: kind, walletAddress: address, signature }
  return verifyAgent(agentId, kind === 'eas' ? { ...proof, attestationUid: uid } : proof)
}

function describe(error: Error): string {
  return error instanceof ApiError ? error.message : 'The wallet did not sign. Unlock it and try again.'
}
